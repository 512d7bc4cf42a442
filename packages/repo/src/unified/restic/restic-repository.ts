import { RepoError } from '../../errors/repo-error.ts'

/** A restic repository as restic names it, with what is needed to open it. */
export interface ResticRepository {
  /** For example `s3:http://127.0.0.1:9000/bucket/restic/ns` or a folder. */
  readonly repository: string
  /**
   * The password itself or the file that holds it; it reaches restic by its environment, never by an
   * argument.
   */
  readonly password: string | { readonly file: string }
  readonly caCertificateFile?: string
  readonly insecureTls?: boolean
  /** Nothing may be written, so that no lock keeps others from pruning what is being read. */
  readonly readOnly?: boolean
  /** Credentials of the storage and the like, handed to restic's process. */
  readonly env?: Readonly<Record<string, string>>
}

/** How restic is started. Its process inherits nothing but `env`. */
export interface ResticSettings {
  /** The program's path. */
  readonly binary: string
  readonly env: Readonly<Record<string, string>>
  /** Without a folder for its cache restic runs uncached. */
  readonly cacheFolder?: string
  /** How long a cancelled restic may take to remove its lock before it is killed; 10 s unless given. */
  readonly graceMs?: number
}

/**
 * The environment of a restic process: that of the settings, then the repository's, then where and with which
 * password.
 */
export function resticEnvironment(settings: ResticSettings, repo: ResticRepository): Record<string, string> {
  const password: Record<string, string> =
    typeof repo.password === 'string'
      ? { RESTIC_PASSWORD: repo.password }
      : { RESTIC_PASSWORD_FILE: repo.password.file }
  return { ...settings.env, ...repo.env, RESTIC_REPOSITORY: repo.repository, ...password }
}

/** The arguments that all restic commands share. */
export function resticGlobalArguments(settings: ResticSettings, repo: ResticRepository): string[] {
  const cache = settings.cacheFolder === undefined ? ['--no-cache'] : ['--cache-dir', settings.cacheFolder]
  const certificate = repo.caCertificateFile === undefined ? [] : ['--cacert', repo.caCertificateFile]
  return [
    ...[...cache, ...certificate],
    ...(repo.insecureTls ? ['--insecure-tls'] : []),
    ...(repo.readOnly ? ['--no-lock'] : []),
  ]
}

/** The id, if restic can take it for nothing else. Throws `INVALID_ARGUMENT`. */
export function resticSnapshotId(text: string): string {
  if (/^[0-9a-f]{4,64}$/.test(text)) return text
  throw new RepoError('INVALID_ARGUMENT', {
    message: `"${text}" is no id of a restic snapshot`,
    hint: 'such ids are 4 to 64 hexadecimal digits',
    snapshotId: text,
  })
}

/** `--tag key=value` for each tag. Throws `INVALID_ARGUMENT` for one that restic would split. */
export function resticTagArguments(tags: Readonly<Record<string, string>>): string[] {
  return Object.entries(tags).flatMap(([key, value]) => {
    if (!`${key}${value}`.includes(',')) return ['--tag', `${key}=${value}`]
    throw new RepoError('INVALID_ARGUMENT', {
      message: `the tag "${key}=${value}" holds a comma, at which restic would split it`,
      hint: 'use tags without commas',
    })
  })
}
