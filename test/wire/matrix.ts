import { newMachine, runCell, settle, type Verdict } from './cell.ts';
import { FAULTS, type FaultKind } from './faults.ts';
import { type Probe, probesOf } from './probes.ts';
import { type Server, serve } from './server.ts';
import { isSilent, listStyle, type Service, statesTotal, withPages } from './service.ts';

/* Every service with other pages, and with a fault at one of them. */

export type How = 'unconfigured' | 'pasted' | 'imported';

/** How a service is played, without what is asked of it. */
export interface Setting {
  readonly service: Service;
  readonly size: number;
  readonly first: 0 | 1;
  readonly how: How;
}

export interface MatrixCell extends Setting {
  readonly fault: FaultKind;
  readonly page: number;
  readonly probe: string;
  readonly result: Verdict;
}

export const SIZES = [3, 12, 15, 20, 30, 50] as const;
/** Of lists that say nothing of pages: smaller ones are taken as whole. */
const SMALLEST_SILENT = 10;
/** A generated service may need several commands: how its lists continue, and the names of two resources. */
const PASTED = 3;

/** Plays a service with each fault that it can have. @param isWanted chooses the cells */
export async function play(
  { service, size, first, how }: Setting,
  isWanted: (fault: FaultKind, probe: string) => boolean,
): Promise<MatrixCell[]> {
  const isTooSmall = size < SMALLEST_SILENT && isSilent(service, 'space');
  const played = withPages(service, isTooSmall ? SMALLEST_SILENT : size, first);
  const server = await serve(played);
  const setting = { service: played, size: played.size ?? size, first, how };
  const imports = how === 'imported' ? [['contract', 'import', server.documentUrl, '--yes']] : [];
  const machine = await newMachine(server, imports);
  const cells: MatrixCell[] = [];
  for (const [name, probe] of probesOf(server)) {
    const faults = FAULTS.filter((fault) => isWanted(fault, name) && canHappen(fault, server, probe, how));
    if (faults.length === 0) continue;
    const own = how === 'pasted' ? await pasted(server, probe) : machine;
    for (const fault of faults) {
      const page = fault.pages[(size + name.length) % fault.pages.length] ?? 2;
      // The stated limit: pages that count from 0, and whose first one came twice, look like one page that counts from 1.
      if (fault.name === 'the page before again' && page === 2 && first === 0 && isSilent(played, probe.resource))
        continue;
      server.fault = { kind: fault, resource: probe.resource, page };
      cells.push({ ...setting, fault, page, probe: name, result: await runCell(server, probe.operation, own) });
    }
    server.fault = undefined;
  }
  await server.stop();
  return cells;
}

/** A machine on which what refusals name was pasted until the service without faults worked. */
async function pasted(server: Server, { operation }: Probe) {
  server.fault = undefined;
  const refused = await runCell(server, operation, await newMachine(server));
  const { pasted: commands } = await settle(server, operation, refused, PASTED);
  return await newMachine(server, commands);
}

function canHappen({ change, instead, name }: FaultKind, { service }: Server, { resource }: Probe, how: How): boolean {
  if (change === undefined && instead === undefined) return true;
  const { paging } = listStyle(service, resource);
  // A service that is not known to page, and sends the same again when asked for more, is one without pages.
  const isKnown = how === 'pasted' || !isSilent(service, resource);
  if (change === undefined) return paging !== undefined && (name !== 'the page before again' || isKnown);
  // Without a total, nothing tells; and nobody takes a message back.
  return paging !== undefined && resource !== 'message' && statesTotal(service, resource);
}

/** One sentence for each cell, and then its command with what it wrote to stderr. */
export function explainCells(cells: readonly MatrixCell[]): string[] {
  return cells.map(({ service, size, first, how, fault, page, probe, result: { reason, stderr } }) => {
    const given = service.paging?.by === 'page' ? `pages of ${size} from ${first}` : `pages of ${size}`;
    const [sentences = ''] = reason.split(/\npartnerctl /);
    const command = /^partnerctl .*/m.exec(reason)?.[0];
    const cell = `${service.name} (${given}), ${how}, ${fault.name} at page ${page}, ${probe}`;
    return [`${cell}: ${sentences}`, command, stderr.slice(0, 500)].join('\n');
  });
}

/** Prints how many cells work, are refused, and are wrong, for each fault and number of items on a page. */
export function printMatrix(title: string, cells: readonly MatrixCell[]): void {
  const sizes = [...new Set(cells.map(({ size }) => size))].toSorted((one, other) => one - other);
  const lines = FAULTS.map(({ name }) => {
    const own = cells.filter(({ fault }) => fault.name === name);
    const counts = sizes.map((size) => {
      const count = (verdict: string) =>
        own.filter((cell) => cell.size === size && cell.result.verdict === verdict).length;
      return `${count('works')}/${count('refused')}/${count('wrong')}`;
    });
    return `  ${name.padEnd(26)}${counts.map((text) => text.padStart(14)).join('')}`;
  });
  const header = `${title}, works/refused/wrong by items on a page:`;
  process.stdout.write(
    `${[header, ' '.repeat(28) + sizes.map((size) => String(size).padStart(14)).join(''), ...lines].join('\n')}\n`,
  );
}
