import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { tool } from '../../tools/binaries/tool.ts'

/** A program and what it is told. */
export type CommandLine = readonly string[]

/** A program that backs up folders, as command lines. Each has a repository of its own. */
export interface Contender {
  name: 'lateen-repo' | 'kopia' | 'restic'
  env: NodeJS.ProcessEnv
  create: CommandLine
  snapshot(folder: string): CommandLine
  /** Restores the last snapshot of a folder. */
  restore(folder: string, target: string): Promise<CommandLine>
}

/** A program for repositories in Kopia's format. */
export interface KopiaFormatContender extends Contender {
  name: 'lateen-repo' | 'kopia'
  /** Makes a repository that is there the contender's; nothing to run when undefined. */
  connect: CommandLine | undefined
  /** Looks at every entry of the index. */
  countContents: CommandLine
  /** Lists the last snapshot of a folder, which opens the repository and reads little. */
  listFolder(folder: string): Promise<CommandLine>
  /** Quick maintenance, which compacts indexes that have settled. */
  maintainQuickly: CommandLine
}

/** The password of every repository here. */
export const password = 'bench-password'

const launcher = path.join(import.meta.dirname, '../../packages/cli/bin/lateen-repo.js')
const quickMaintenance = path.join(import.meta.dirname, 'maintain-quickly.ts')

/** All contenders, with repositories below `scratch`. */
export async function contenders(scratch: string): Promise<Contender[]> {
  return [...(await kopiaFormatContenders(scratch)), await restic(scratch)]
}

/** Those that read and write Kopia's format, with the repositories `scratch/lateen-repo` and `scratch/kopia`. */
export async function kopiaFormatContenders(scratch: string): Promise<KopiaFormatContender[]> {
  await mkdir(scratch, { recursive: true })
  return [await lateen(scratch), await kopia(scratch)]
}

async function lateen(scratch: string): Promise<KopiaFormatContender> {
  const passwordFile = path.join(scratch, 'password')
  await writeFile(passwordFile, password)
  const repository = path.join(scratch, 'lateen-repo')
  const common = ['--repo', `file://${repository}`, '--password-file', passwordFile]
  const run = (...args: string[]) => [process.execPath, launcher, ...args, ...common]
  const lastSnapshot = async (folder: string): Promise<string> => {
    const [program = '', ...args] = run('list', '--json')
    const lines = (await runCommand(program, args)).trim().split('\n')
    const snapshots = lines.map(line => JSON.parse(line) as { id: string; source: { path: string } })
    return snapshots.findLast(({ source }) => source.path === folder)?.id ?? ''
  }
  return {
    name: 'lateen-repo',
    env: process.env,
    create: run('create'),
    connect: undefined,
    snapshot: folder => run('snapshot', folder),
    restore: async (folder, target) => run('restore', await lastSnapshot(folder), target),
    countContents: run('status'),
    listFolder: async folder => run('ls', await lastSnapshot(folder)),
    maintainQuickly: [process.execPath, quickMaintenance, repository, passwordFile],
  }
}

async function kopia(scratch: string): Promise<KopiaFormatContender> {
  const program = await tool('kopia')
  const home = path.join(scratch, 'kopia-home')
  const repository = path.join(scratch, 'kopia')
  await mkdir(repository, { recursive: true })
  const env = {
    ...process.env,
    KOPIA_PASSWORD: password,
    KOPIA_CONFIG_PATH: path.join(home, 'repository.config'),
    KOPIA_LOG_DIR: path.join(home, 'log'),
    KOPIA_CHECK_FOR_UPDATES: 'false',
  }
  const where = ['filesystem', '--path', repository, '--cache-directory', path.join(home, 'cache')]
  // Our engine makes `default` at `default` the owner, as Velero does; only the owner maintains.
  const asOwner = ['--override-username', 'default', '--override-hostname', 'default']
  const last = async (folder: string): Promise<{ id: string; rootEntry: { obj: string } } | undefined> => {
    const listed = await runCommand(program, ['snapshot', 'list', folder, '--json'], { env })
    return (JSON.parse(listed) as { id: string; rootEntry: { obj: string } }[]).at(-1)
  }
  return {
    name: 'kopia',
    env,
    create: [program, 'repository', 'create', ...where],
    connect: [program, 'repository', 'connect', ...where, ...asOwner],
    snapshot: folder => [program, 'snapshot', 'create', folder, '--no-progress', '--no-auto-maintenance'],
    restore: async (folder, target) => {
      return [program, 'snapshot', 'restore', (await last(folder))?.id ?? '', target, '--no-progress']
    },
    countContents: [program, 'content', 'stats'],
    listFolder: async folder => [program, 'ls', (await last(folder))?.rootEntry.obj ?? ''],
    maintainQuickly: [program, 'maintenance', 'run', '--no-full'],
  }
}

async function restic(scratch: string): Promise<Contender> {
  const program = await tool('restic')
  const env = {
    ...process.env,
    RESTIC_PASSWORD: password,
    RESTIC_REPOSITORY: path.join(scratch, 'restic'),
    RESTIC_CACHE_DIR: path.join(scratch, 'restic-cache'),
  }
  const restoreLast = ['restore', 'latest', '--quiet']
  return {
    name: 'restic',
    env,
    create: [program, 'init', '--quiet'],
    snapshot: folder => [program, 'backup', '--quiet', folder],
    restore: async (folder, target) => [program, ...restoreLast, '--path', folder, '--target', target],
  }
}
