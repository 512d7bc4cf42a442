import type { FlagSet, FlagSpec } from './flag.ts'

/** Flags of commands that fetch files of the object store. */
export const downloadFlags = {
  cacert: {
    type: 'string',
    help: 'File with a certificate bundle for TLS connections to the object store. Without it: `cacert` of the client configuration, then the certificates of the backup location.',
  },
  'insecure-skip-tls-verify': {
    type: 'boolean',
    help: 'Accept any TLS certificate of the object store. Whoever is in between can then read and change what it sends.',
  },
} as const satisfies FlagSet

/** `--timeout` of commands that fetch them. */
export function linkTimeout(what: string) {
  return {
    type: 'duration',
    default: '1m',
    help: `How long to wait for the link to ${what}, and then for more of it to come.`,
  } as const satisfies FlagSpec
}
