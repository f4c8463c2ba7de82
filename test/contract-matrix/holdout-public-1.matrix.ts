import { declareCells } from './declare.ts';
import { HOLDOUT_PUBLIC_1 } from './services/holdout-public-1.ts';

declareCells(HOLDOUT_PUBLIC_1);
