import { start } from '../support/program.ts';
import { testNoTokenLeak } from '../support/token-echo.ts';

testNoTokenLeak((args, env) => start(args, { env }));
