/** The environment variables that people set, as `partnerctl help environment` explains them. */
export const ENVIRONMENT_VARIABLES: readonly {
  readonly name: string;
  /** The global flag that wins over it. */
  readonly flag?: string;
  readonly description: string;
}[] = [
  { name: 'PARTNER_BASE_URL', flag: '--base-url', description: 'base URL of the service, ending in /v1' },
  { name: 'PARTNER_TOKEN', flag: '--token-file', description: 'the token itself' },
  { name: 'PARTNER_PROFILE', flag: '--profile', description: 'the profile to use' },
  { name: 'PARTNER_STATE', flag: '--state', description: 'the state: a file, postgres://…, or git+ssh://…#branch' },
  { name: 'PARTNER_CONFIG_DIR', description: 'directory of the profiles' },
  { name: 'PARTNER_OUTPUT', flag: '--output', description: 'output format' },
  { name: 'PARTNER_WEBHOOK_SECRET', description: 'the secret that webhooks are signed with, one per line' },
  { name: 'CI', description: 'any value: nothing is asked, and no progress is shown' },
  { name: 'HTTPS_PROXY', description: 'proxy for https services' },
  { name: 'NO_PROXY', description: 'hosts that are reached without the proxy' },
  { name: 'NODE_EXTRA_CA_CERTS', description: 'a file of additional certificate authorities (PEM)' },
];
