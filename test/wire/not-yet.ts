/** Beginnings of `service / operation`: refused although the document of the service says enough. To be emptied. */
export const NOT_IMPORTED: readonly string[] = [
  'discord',
  'elasticsearch',
  'microsoft-graph-chat',
  'uncommon-names',
  'uuids-without-times',
  'wordpress',
];
