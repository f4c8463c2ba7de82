import { run } from '../helpers/run.ts';
import { testNoTokenLeak } from '../helpers/token-echo.ts';

testNoTokenLeak((args, env) => run(args, { env }));
