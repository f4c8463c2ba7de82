import { declareCells } from './declare.ts';
import { ODD_PAGES } from './services/third-holdout-odd-pages.ts';

declareCells(ODD_PAGES);
