import { streamLines } from '../cli/input.ts';
import { openTemporaryFile, type TemporaryFile, temporaryFileError } from '../config/temporary-file.ts';

/** A row that was checked. */
export interface SpooledRow {
  /** Its line in the input, from 1. */
  readonly line: number;
  /** Null for the default. */
  readonly source_id: string | null;
  readonly session_id: string;
  readonly text: string;
  /** Null for one that is derived from the row. */
  readonly external_message_id: string | null;
  /** Its position among the rows with the same content, from 1. */
  readonly occurrence: number;
}

const FLUSH_CHARACTERS = 64 * 1024;

/** Larger than any row: its JSON may take six times the bytes of its text. */
const MAX_ROW_MIB = 512;

interface Lane {
  readonly temporary: TemporaryFile;
  waiting: string[];
  length: number;
}

/**
 * Keeps checked rows on disk, in one file for each lane, so that a run sends what it has checked, reads standard input
 * only once, and holds no more than one row of each lane in memory.
 */
export class RowSpool {
  private readonly lanes: readonly Lane[];

  private constructor(lanes: readonly Lane[]) {
    this.lanes = lanes;
  }

  /** @throws LocalError */
  static async open(lanes: number): Promise<RowSpool> {
    try {
      const files = await Promise.all(Array.from({ length: lanes }, () => openTemporaryFile('rows')));
      return new RowSpool(files.map((temporary) => ({ temporary, waiting: [], length: 0 })));
    } catch (error) {
      throw temporaryFileError('The rows', error);
    }
  }

  /** @throws LocalError */
  async write(index: number, row: SpooledRow): Promise<void> {
    const lane = this.lanes[index];
    if (!lane) return;
    const line = `${JSON.stringify(row)}\n`;
    lane.waiting.push(line);
    lane.length += line.length;
    if (lane.length > FLUSH_CHARACTERS) await this.flush(lane);
  }

  /** Writes what waits. @throws LocalError */
  async finish(): Promise<void> {
    for (const lane of this.lanes) await this.flush(lane);
  }

  /** Returns the rows of each lane, in order. Each can be read once. */
  read(): AsyncGenerator<SpooledRow>[] {
    return this.lanes.map(({ temporary }) => readSpool(temporary));
  }

  async close(): Promise<void> {
    for (const { temporary } of this.lanes) await temporary.remove();
  }

  private async flush(lane: Lane): Promise<void> {
    const text = lane.waiting.join('');
    lane.waiting = [];
    lane.length = 0;
    try {
      await lane.temporary.file.appendFile(text);
    } catch (error) {
      throw temporaryFileError('The rows', error);
    }
  }
}

async function* readSpool({ file }: TemporaryFile): AsyncGenerator<SpooledRow> {
  const chunks = file.createReadStream({ start: 0, autoClose: false });
  for await (const line of streamLines(chunks, MAX_ROW_MIB)) {
    const row: SpooledRow = JSON.parse(line.toString());
    yield row;
  }
}
