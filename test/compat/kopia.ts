/** Drives the real `kopia` program: each repository handle has its own configuration, cache and logs in a temporary folder. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { tool } from '../../tools/binaries/tool.ts'
import type { S3Access } from '../../tools/cluster/s3-server.ts'

/** Where a repository lies: a folder of this machine, or a prefix of a bucket. */
export type KopiaStorage = { path: string } | (S3Access & { prefix: string })

/** How `kopiaRepository` gets at a repository. */
export interface KopiaOptions {
  /** A new temporary folder when absent. */
  storage?: KopiaStorage
  /** Flags of `kopia repository create`, such as `--block-hash=BLAKE3-256`. */
  createFlags?: readonly string[]
  /** Connects to what is there instead of creating it. */
  connect?: boolean
  /** Connects so that `kopia` writes nothing, not even by opening. */
  readonly?: boolean
  password?: string
  /** Who writes: `tester` at `testhost` when absent. Owns maintenance of a repository it creates. */
  username?: string
  hostname?: string
}

/** A repository as `kopia` is connected to it. */
export interface KopiaRepository {
  readonly storage: KopiaStorage
  /** The folder of a repository in the file system; empty for S3. */
  readonly path: string
  readonly password: string
  /** A folder that vanishes with the test. */
  readonly scratch: string
  /** Runs `kopia` and returns what it prints. Rejects with CommandError, which holds its standard error. */
  kopia(args: readonly string[]): Promise<string>
  /** `kopia` with `--json`, parsed. */
  json<T = unknown>(args: readonly string[]): Promise<T>
  /** Snapshots a folder without the maintenance `kopia` would run afterwards; returns the manifest's id. */
  snapshot(folder: string, flags?: readonly string[]): Promise<string>
  /** Restores a snapshot or object into a new folder and returns the folder. */
  restore(id: string): Promise<string>
  /** All of its checks: every content's bytes, every snapshot's tree and files. Rejects when one fails. */
  verify(): Promise<void>
}

/** What `kopiaRepository` needs of a test: the moment to clean up. */
export interface TestScope {
  after(cleanUp: () => Promise<void>): void
}

/** Why `kopia` cannot be run here, or false; for the `skip` of a `describe`. */
export async function kopiaSkip(): Promise<string | false> {
  return tool('kopia').then(
    () => false,
    (error: unknown) => `no kopia: ${String(error)}`,
  )
}

/** Creates a repository with `kopia`, or connects to one. Everything it makes is removed after the test. */
export async function kopiaRepository(t: TestScope, options: KopiaOptions = {}): Promise<KopiaRepository> {
  const program = await tool('kopia')
  const scratch = await mkdtemp(path.join(tmpdir(), 'lateen-kopia-'))
  t.after(() => rm(scratch, { recursive: true, force: true }))
  const storage = options.storage ?? { path: path.join(scratch, 'repository') }
  const password = options.password ?? 'static-passw0rd'
  const env = { ...process.env, ...environment(scratch, password) }
  const kopia = (args: readonly string[]) => runCommand(program, [...args, '--no-progress'], { env })
  if ('path' in storage) await mkdir(storage.path, { recursive: true })
  await kopia([
    'repository',
    ...openArguments(storage, options),
    `--cache-directory=${path.join(scratch, 'cache')}`,
  ])
  return {
    storage,
    path: 'path' in storage ? storage.path : '',
    password,
    scratch,
    kopia,
    ...verbs(kopia, scratch),
  }
}

function environment(scratch: string, password: string): Record<string, string> {
  return {
    KOPIA_PASSWORD: password,
    KOPIA_CONFIG_PATH: path.join(scratch, 'repository.config'),
    KOPIA_LOG_DIR: path.join(scratch, 'logs'),
    KOPIA_CHECK_FOR_UPDATES: 'false',
    KOPIA_USE_KEYRING: 'false',
    KOPIA_PERSIST_CREDENTIALS_ON_CONNECT: 'false',
    HOME: scratch,
    // A fraction of kopia's time in these tests is its garbage collector; its memory is not what they measure.
    GOGC: '400',
  }
}

function openArguments(storage: KopiaStorage, options: KopiaOptions): string[] {
  return [
    options.connect ? 'connect' : 'create',
    ...('path' in storage ? ['filesystem', `--path=${storage.path}`] : ['s3', ...s3Flags(storage)]),
    `--override-username=${options.username ?? 'tester'}`,
    `--override-hostname=${options.hostname ?? 'testhost'}`,
    ...(options.readonly ? ['--readonly'] : []),
    ...(options.createFlags ?? []),
  ]
}

function s3Flags(storage: S3Access & { prefix: string }): string[] {
  const endpoint = new URL(storage.endpoint)
  return [
    `--bucket=${storage.bucket}`,
    `--prefix=${storage.prefix}`,
    `--endpoint=${endpoint.host}`,
    `--region=${storage.region}`,
    `--access-key=${storage.accessKeyId}`,
    `--secret-access-key=${storage.secretAccessKey}`,
    ...(endpoint.protocol === 'http:' ? ['--disable-tls'] : []),
  ]
}

function verbs(kopia: KopiaRepository['kopia'], scratch: string) {
  let restored = 0
  return {
    json: async <T>(args: readonly string[]) => JSON.parse(await kopia([...args, '--json'])) as T,
    async snapshot(folder: string, flags: readonly string[] = []) {
      const printed = await kopia(['snapshot', 'create', folder, '--json', '--no-auto-maintenance', ...flags])
      return (JSON.parse(printed) as { id: string }).id
    },
    async restore(id: string) {
      restored += 1
      const folder = path.join(scratch, `restored-${restored}`)
      await kopia(['restore', id, folder])
      return folder
    },
    async verify() {
      await kopia(['content', 'verify', '--full'])
      await kopia(['snapshot', 'verify', '--verify-files-percent=100'])
    },
  }
}
