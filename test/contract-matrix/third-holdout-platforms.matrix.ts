import { declareCells } from './declare.ts';
import { PLATFORMS } from './services/third-holdout-platforms.ts';

declareCells(PLATFORMS);
