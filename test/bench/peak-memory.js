import { writeSync } from 'node:fs';

// Loaded into a process with --import: tells its peak memory on file descriptor 3 when it ends.
process.on('exit', () => writeSync(3, String(process.resourceUsage().maxRSS)));
