import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { main } from '../../src/main.ts';
import { memorySink } from '../support/memory-sink.ts';
import { fasterClock, manualSignals, testProcess, tinyRandom } from '../support/run.ts';
import { type Exchange, ServiceServer } from './server.ts';
import type { Service } from './service.ts';

/** How much faster the clock of the commands is. */
const CLOCK_SPEED = 20;
export const SLOW_CLOCK_SPEED = 4;
/** The time limit of commands that wait for a reply, and of the others, on that clock. */
const WAIT_TIMEOUT = '2m';
const TIMEOUT = '10m';

export interface CommandEnd {
  readonly argv: readonly string[];
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The requests that the service received meanwhile. */
  readonly exchanges: readonly Exchange[];
}

/** A service as a cell finds it, and the machines on which its commands run. */
export class Scene {
  readonly server: ServiceServer;
  readonly service: Service;
  private readonly clockSpeed: number;
  private readonly homes = new Map<string, string>();
  private readonly settings: readonly (readonly string[])[];

  /** @param settings command lines that run on every machine before anything else */
  constructor(service: Service, settings: readonly (readonly string[])[], clockSpeed = CLOCK_SPEED) {
    this.server = new ServiceServer(service);
    this.service = service;
    this.clockSpeed = clockSpeed;
    this.settings = settings;
  }

  async close(): Promise<void> {
    this.server.close();
    await Promise.all([...this.homes.values()].map((home) => rm(home, { recursive: true, force: true })));
  }

  /** Writes a file into the home directory of a machine. Returns its path. */
  async write(name: string, text: string, machine = 'first'): Promise<string> {
    const path = join(await this.home(machine), name);
    await writeFile(path, text);
    return path;
  }

  /** Runs a command line in this process, on a machine with its own state and settings. */
  async run(argv: readonly string[], machine = 'first'): Promise<CommandEnd> {
    const home = await this.home(machine);
    const seen = this.server.exchanges.length;
    const stdout = memorySink();
    const stderr = memorySink();
    const isWait = argv.includes('--wait') || argv.includes('wait');
    const code = await main([...argv, '--timeout', isWait ? WAIT_TIMEOUT : TIMEOUT], {
      io: { stdin: Readable.from([]), stdout, stderr },
      env: { HOME: home, PARTNER_BASE_URL: this.server.baseUrl, PARTNER_TOKEN: 'matrix-token' },
      clock: fasterClock(this.clockSpeed),
      random: tinyRandom,
      signals: manualSignals(),
      ...testProcess(home),
    });
    const exchanges = this.server.exchanges.slice(seen);
    return { argv, code, stdout: stdout.text(), stderr: stderr.text(), exchanges };
  }

  private async home(machine: string): Promise<string> {
    const known = this.homes.get(machine);
    if (known !== undefined) return known;
    const home = await mkdtemp(join(tmpdir(), 'partnerctl-contract-'));
    this.homes.set(machine, home);
    for (const argv of this.settings) {
      const { code, stderr } = await this.run(argv, machine);
      if (code !== 0) throw new Error(`partnerctl ${argv.join(' ')} ended with ${code}: ${stderr}`);
    }
    return home;
  }
}
