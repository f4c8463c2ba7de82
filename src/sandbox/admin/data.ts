import * as v from 'valibot';
import { readBody } from '../body.ts';
import { FaultDice, settle } from '../faults.ts';
import { makeId } from '../ids.ts';
import { Problem } from '../problem.ts';
import { type Service, timestamp } from '../service.ts';
import { closed, filledText } from '../shapes.ts';
import type { SpaceRecord } from '../store/spaces.ts';
import type { AdminRoute } from './route.ts';

const newTemplateSchema = closed({ template_id: filledText(255), name: filledText(255) });

const bulkSchema = closed({
  count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000)),
  prefix: v.optional(filledText(200), 'space'),
});

const resetSchema = closed({ keep_tokens: v.optional(v.boolean(), true) });

/** Makes those of `<prefix>-1` to `<prefix>-<count>` that are not there yet. */
function makeSpaces(service: Service, count: number, prefix: string): number {
  const created_at = timestamp(service);
  const spaces: SpaceRecord[] = [];
  for (let number = 1; number <= count; number += 1) {
    const external_space_id = `${prefix}-${number}`;
    if (service.store.world.spaces.byExternalId(external_space_id)) continue;
    const name = `${prefix} ${number}`;
    spaces.push({ space_id: makeId('spc'), external_space_id, name, description: '', is_org_wide: false, created_at });
  }
  for (const space of spaces) service.store.commit({ kind: 'space', space });
  return spaces.length;
}

async function reset(service: Service, keepTokens: boolean): Promise<void> {
  const uploads = [...service.store.world.uploads.all()];
  service.store.commit({ kind: 'reset', keep_tokens: keepTokens });
  service.timeline.clear();
  // The clock may have gone back, and what was used up then says nothing about now.
  service.limiter.clear();
  service.log.clear();
  service.faults = new FaultDice(settle({ rules: [] }, service.random));
  // Not before the records are gone for good: a crash may leave a file without a record, never the other way about.
  await service.store.durable();
  await service.store.files.remove(uploads.map(({ upload_id }) => upload_id));
}

/** Templates, spaces in bulk, and the way back to an empty service. */
export function dataAdmin(service: Service): AdminRoute[] {
  return [
    {
      method: 'GET',
      path: '/templates',
      handle: (c) => c.json({ templates: [...service.store.world.templates.values()] }),
    },
    {
      method: 'POST',
      path: '/templates',
      handle: async (c) => {
        const { template_id, name } = await readBody(c, newTemplateSchema);
        if (service.store.world.templates.has(template_id)) {
          throw new Problem(409, 'template_exists', `There is a template ${template_id} already.`);
        }
        service.store.commit({ kind: 'template', template: { template_id, name } });
        return c.json({ template_id, name }, 201);
      },
    },
    {
      method: 'POST',
      path: '/spaces',
      handle: async (c) => {
        const { count, prefix } = await readBody(c, bulkSchema);
        return c.json({ created: makeSpaces(service, count, prefix) }, 201);
      },
    },
    {
      method: 'POST',
      path: '/reset',
      handle: async (c) => {
        const { keep_tokens } = await readBody(c, resetSchema);
        await reset(service, keep_tokens);
        return c.body(null, 204);
      },
    },
  ];
}
