import { declareCells } from './declare.ts';
import { HOLDOUT_PUBLIC_2 } from './services/holdout-public-2.ts';

declareCells(HOLDOUT_PUBLIC_2);
