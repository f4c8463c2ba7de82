import { declareCells } from './declare.ts';
import { PUBLIC_APIS } from './services/public-apis.ts';

declareCells(PUBLIC_APIS);
