import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { tool } from '../../tools/binaries/tool.ts'

/** A program that backs up folders, as command lines. Each gets a repository of its own. */
export interface Contender {
  name: 'lateen-repo' | 'kopia' | 'restic'
  env: NodeJS.ProcessEnv
  create: string[]
  snapshot(folder: string): string[]
  /** Restores the last snapshot of a folder. */
  restore(folder: string, target: string): Promise<string[]>
}

const password = 'bench-password'
const launcher = path.join(import.meta.dirname, '../../packages/cli/bin/lateen-repo.js')

export async function contenders(scratch: string): Promise<Contender[]> {
  return [await lateen(scratch), await kopia(scratch), await restic(scratch)]
}

async function lateen(scratch: string): Promise<Contender> {
  const passwordFile = path.join(scratch, 'password')
  await mkdir(scratch, { recursive: true })
  await writeFile(passwordFile, password)
  const common = ['--repo', `file://${path.join(scratch, 'lateen')}`, '--password-file', passwordFile]
  const run = (...args: string[]) => [process.execPath, launcher, ...args, ...common]
  return {
    name: 'lateen-repo',
    env: process.env,
    create: run('create'),
    snapshot: folder => run('snapshot', folder),
    restore: async (folder, target) => {
      const [program = '', ...args] = run('list', '--json')
      const lines = (await runCommand(program, args)).trim().split('\n')
      const snapshots = lines.map(line => JSON.parse(line) as { id: string; source: { path: string } })
      const last = snapshots.findLast(({ source }) => source.path === folder)
      return run('restore', last?.id ?? '', target)
    },
  }
}

async function kopia(scratch: string): Promise<Contender> {
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
  const cache = ['--cache-directory', path.join(home, 'cache')]
  return {
    name: 'kopia',
    env,
    create: [program, 'repository', 'create', 'filesystem', '--path', repository, ...cache],
    snapshot: folder => [program, 'snapshot', 'create', folder, '--no-progress', '--no-auto-maintenance'],
    restore: async (folder, target) => {
      const listed = await runCommand(program, ['snapshot', 'list', folder, '--json'], { env })
      const last = (JSON.parse(listed) as { id: string }[]).at(-1)
      return [program, 'snapshot', 'restore', last?.id ?? '', target, '--no-progress']
    },
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
  return {
    name: 'restic',
    env,
    create: [program, 'init', '--quiet'],
    snapshot: folder => [program, 'backup', '--quiet', folder],
    restore: async (folder, target) => [
      program,
      'restore',
      'latest',
      '--quiet',
      '--path',
      folder,
      '--target',
      target,
    ],
  }
}
