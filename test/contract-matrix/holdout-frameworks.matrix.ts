import { declareCells } from './declare.ts';
import { HOLDOUT_FRAMEWORKS } from './services/holdout-frameworks.ts';

declareCells(HOLDOUT_FRAMEWORKS);
