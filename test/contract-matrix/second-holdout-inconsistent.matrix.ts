import { declareCells } from './declare.ts';
import { INCONSISTENT } from './services/second-holdout-inconsistent.ts';

declareCells(INCONSISTENT);
