import { declareCells } from './declare.ts';
import { HOLDOUT_MIXTURES } from './services/holdout-mixtures.ts';

declareCells(HOLDOUT_MIXTURES);
