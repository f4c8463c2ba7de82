/* What the program does not do right yet, as beginnings of `service / operation`. To be emptied, and then deleted. */

/** Wrong, at a service that it does not know, or after two commands that it named. */
export const WRONG: readonly string[] = [
  'fastapi-offset-limit',
  'mongo-extended-json',
  'uncommon-names / spaces list',
  'uuids-without-times',
];

/** Wrong after the import of the document. */
export const WRONG_IMPORTED: readonly string[] = [...WRONG, 'row-numbers-and-uuids'];

/** Refused after the import of the document. */
export const NOT_IMPORTED: readonly string[] = [
  ...WRONG,
  'discord',
  'nestjs-paginate',
  'rails-jbuilder-kaminari',
  'rails-link-header',
  'spring-page',
  'uncommon-names',
  'wordpress',
  'zendesk / upload',
];
