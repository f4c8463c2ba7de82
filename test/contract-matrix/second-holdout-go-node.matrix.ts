import { declareCells } from './declare.ts';
import { GO_NODE } from './services/second-holdout-go-node.ts';

declareCells(GO_NODE);
