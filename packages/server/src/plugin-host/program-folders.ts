import { lstat, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** What the address of a Unix socket has room for, less the name that a program chooses. */
const LONGEST_FOLDER = 80

const PID_FILE = 'pid'

/** Tells this process from an earlier one with the same number: in a pod, servers all have the same. */
const thisProcess = Math.trunc(performance.timeOrigin).toString(36)

export interface ProgramFoldersOptions {
  /** Of the server, in the names of folders. */
  pid: number
  isAlive(pid: number): boolean
  /** Default: the system's folder for temporary files, or /tmp where its path is too long for sockets. */
  parent?: string
}

/** Folders for the sockets of programs: only this user may enter them, which is all that protects the sockets. */
export interface ProgramFolders extends AsyncDisposable {
  create(): Promise<string>
  /** Notes which process has the folder, so that the next server can end it if this one is killed. */
  note(folder: string, pid: number): Promise<void>
}

/**
 * A place for the sockets of a server's programs, made when the first one needs it. What killed servers left behind is removed, and programs
 * that they left running are ended: programs made for Velero do not notice that their host is gone. `create` throws what the file system
 * throws.
 */
export async function createProgramFolders({
  pid,
  isAlive,
  parent = shortTemporaryFolder(),
}: ProgramFoldersOptions): Promise<ProgramFolders> {
  await removeLeftovers(parent, (owner, begun) => (owner === pid ? begun !== thisProcess : !isAlive(owner)))
  let own: Promise<string> | undefined
  return {
    async create() {
      own ??= mkdtemp(path.join(parent, `lateen-plugins-${pid}-${thisProcess}-`)).catch(error => {
        own = undefined
        throw error
      })
      return mkdtemp(path.join(await own, 'p'))
    },
    note: (folder, program) => writeFile(path.join(folder, PID_FILE), String(program)),
    async [Symbol.asyncDispose]() {
      const made = await own?.catch(() => undefined)
      if (made !== undefined) await rm(made, { recursive: true, force: true })
    },
  }
}

function shortTemporaryFolder(): string {
  const usual = tmpdir()
  return Buffer.byteLength(usual) + 'lateen-plugins-4194304-0000000a-abcdef/pabcdef'.length <= LONGEST_FOLDER
    ? usual
    : '/tmp'
}

async function removeLeftovers(
  parent: string,
  isAbandoned: (owner: number, begun: string) => boolean,
): Promise<void> {
  for (const name of await readdir(parent)) {
    const [, owner = '', begun = ''] = /^lateen-plugins-(\d+)-(\w+)-\w{6}$/.exec(name) ?? []
    if (owner === '' || !isAbandoned(Number(owner), begun)) continue
    const folder = path.join(parent, name)
    if (!(await isOurs(folder))) continue
    for (const program of await namesIn(folder)) await endLeftProgram(path.join(folder, program))
    await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}

/** None where it cannot be read: what is left over is no reason not to start. */
async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}

async function isOurs(folder: string): Promise<boolean> {
  const stats = await lstat(folder).catch(() => undefined)
  return stats?.isDirectory() === true && stats.uid === process.getuid?.()
}

/**
 * The number of a process may be another's by now; that its environment names the folder tells that it is the one. A server that was killed
 * right after it had started a program has noted no number: then every process is looked at.
 */
async function endLeftProgram(folder: string): Promise<void> {
  const noted = Number(await readFile(path.join(folder, PID_FILE), 'utf8').catch(() => ''))
  const candidates = noted > 0 ? [noted] : await allProcesses()
  for (const pid of candidates) if (await isProgramOf(folder, pid)) endGroupOf(pid)
}

/** None where the system does not tell. */
async function allProcesses(): Promise<number[]> {
  const names = await namesIn('/proc')
  return names.map(Number).filter(pid => pid > 0)
}

async function isProgramOf(folder: string, pid: number): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
  return environment.split('\0').includes(`PLUGIN_UNIX_SOCKET_DIR=${folder}`)
}

/** Programs lead a group of their own. What they have started has their environment, too, but leads none. */
function endGroupOf(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended, or ends with the one that leads its group.
  }
}
