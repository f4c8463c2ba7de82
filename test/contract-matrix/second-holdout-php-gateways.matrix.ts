import { declareCells } from './declare.ts';
import { PHP_GATEWAYS } from './services/second-holdout-php-gateways.ts';

declareCells(PHP_GATEWAYS);
