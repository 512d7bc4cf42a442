import type { Flag } from './command.ts'

/** The flags that every command takes. */
export const globalFlags = {
  repo: { type: 'string', value: 'URL', help: 'file:///folder or s3://bucket/prefix (or LATEEN_REPO)' },
  'password-file': { type: 'string', value: 'FILE', help: 'take the password from the first line of a file' },
  'password-env': { type: 'string', value: 'NAME', help: 'take the password from a variable' },
  's3-endpoint': { type: 'string', value: 'URL', help: 'S3 server (or AWS_ENDPOINT_URL)' },
  's3-region': { type: 'string', value: 'NAME', help: 'S3 region (or AWS_REGION)' },
  's3-ca-file': { type: 'string', value: 'FILE', help: 'certificates to trust (or AWS_CA_BUNDLE)' },
  's3-skip-tls-verify': { type: 'boolean', help: 'accept any certificate' },
  'cache-dir': {
    type: 'string',
    value: 'FOLDER',
    help: "keep what was read, or none (or LATEEN_REPO_CACHE); S3 has one below the user's cache folder",
  },
  'cache-limit': { type: 'string', value: 'MB', help: 'how large the cache may grow (5000)' },
  client: { type: 'string', value: 'USER@HOST', help: 'act as this client; default@default is Velero' },
  json: { type: 'boolean', help: 'print JSON: one document, or a line for each of many' },
  quiet: { type: 'boolean', help: 'no progress and no notes' },
  help: { type: 'boolean', help: 'print this' },
} as const satisfies Record<string, Flag>
