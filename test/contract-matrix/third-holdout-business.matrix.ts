import { declareCells } from './declare.ts';
import { BUSINESS } from './services/third-holdout-business.ts';

declareCells(BUSINESS);
