import type { Service, ServiceApp } from '../service.ts';
import { createDocument, publishDocument } from './document.ts';
import { createGuide } from './guide.ts';

/** The versioned base, and the alias of the latest version (spec §9). */
const BASES = ['/v1', '/latest'];

const FILES = { json: '/openapi.json', yaml: '/openapi.yaml', guide: '/guide.txt' } as const;

/** Whether a path is that of the OpenAPI document or the guide. */
export function isDocumentPath(path: string): boolean {
  return BASES.some((base) => Object.values(FILES).some((file) => path === `${base}${file}`));
}

/** The OpenAPI document in JSON and YAML, and the guide. They need no token (spec §9). */
export function addDocumentRoutes(app: ServiceApp, { shape, origin }: Service): void {
  for (const base of BASES) {
    app.get(`${base}${FILES.json}`, (c) =>
      c.body(JSON.stringify(publishDocument(shape, origin), null, 2), 200, {
        'Content-Type': 'application/json',
      }),
    );
    app.get(`${base}${FILES.yaml}`, async (c) => {
      const { stringify } = await import('yaml');
      const text = stringify(publishDocument(shape, origin), { aliasDuplicateObjects: false });
      return c.body(text, 200, { 'Content-Type': 'application/yaml' });
    });
    app.get(`${base}${FILES.guide}`, (c) => c.text(createGuide(createDocument(shape, origin))));
  }
}
