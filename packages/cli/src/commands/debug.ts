import { PassThrough } from 'node:stream'
import { type BundleFile, bundleBytes } from '../debug/bundle-file.ts'
import { type Complain, masked, objectFiles, podFiles } from '../debug/cluster-files.ts'
import { textWithoutSecrets } from '../debug/without-secrets.ts'
import { saveFile } from '../download/save-file.ts'
import type { CommandResult } from '../output/command-result.ts'
import { errorReason } from '../output/error-line.ts'
import { readFlagValues } from '../parse/flag-values.ts'
import { backupDescribeFlags } from '../tree/backup.ts'
import type { CommandCall, CommandModule } from '../tree/command.ts'
import type { debugFlags } from '../tree/debug.ts'
import type { FlagSet } from '../tree/flag.ts'
import { logsFlags } from '../tree/object-flags.ts'
import { restoreDescribeFlags } from '../tree/restore.ts'
import { versionFlags } from '../tree/root.ts'
import { backupClient } from './backup-client.ts'
import type { Place } from './object-client.ts'
import { restoreClient } from './restore-client.ts'

type Call = CommandCall<typeof debugFlags>

/** The folder that Velero's bundles hold. */
const BUNDLE_FOLDER = 'velero-bundle'

/** `debug`: a bundle for whoever is to find a fault. Throws a CliError for a backup or restore that does not exist. */
export function run(call: Call): CommandResult {
  return { show: 'lines', lines: collect(call) }
}

async function* collect(call: Call): AsyncGenerator<string> {
  const { flags, surroundings } = call
  const { signal, clock } = surroundings
  const { namespace } = await call.settings()
  const file = flags.output || defaultName(clock.now())
  await using client = await call.connect()
  const place = { client, namespace, signal }
  // Fails here when there is no cluster, and not once for each kind of object.
  await client.getRaw('/version', { signal })
  if (flags.backup) await backupClient(place).get(flags.backup)
  if (flags.restore) await restoreClient(place).get(flags.restore)
  const complaints: string[] = []
  const said: string[] = []
  yield `Collecting objects and logs of namespace ${namespace}.`
  const files = noting(
    bundleFiles(call, place, (what, error) => {
      complaints.push(textWithoutSecrets(`${what}: ${errorReason(error)}`))
    }),
    said,
    complaints,
  )
  await saveFile(bundleBytes(files, { folder: BUNDLE_FOLDER, now: clock.now(), signal }), {
    file,
    force: false,
  })
  if (flags.verbose) yield* said
  for (const complaint of complaints) yield `Not collected: ${complaint}`
  yield `Wrote ${file}. It holds no Secrets, but names what runs in the cluster: read it before you send it.`
}

/** Velero's name, in local time. */
function defaultName(now: number): string {
  const at = new Date(now)
  const two = (value: number) => String(value).padStart(2, '0')
  const parts = [at.getMonth() + 1, at.getDate(), at.getHours(), at.getMinutes(), at.getSeconds()]
  return `bundle-${at.getFullYear()}-${parts.map(two).join('-')}.tar.gz`
}

/** Takes down which files there are, and adds what could not be had as the last one. */
async function* noting(
  files: AsyncIterable<BundleFile>,
  said: string[],
  complaints: readonly string[],
): AsyncGenerator<BundleFile> {
  for await (const file of files) {
    said.push(`Collected ${file.path}`)
    yield file
  }
  if (complaints.length > 0) yield { path: 'errors.txt', content: complaints.map(line => `${line}\n`) }
}

async function* bundleFiles(call: Call, place: Place, complain: Complain): AsyncGenerator<BundleFile> {
  yield* objectFiles(place, complain)
  yield {
    path: 'version.txt',
    content: printed(call, { flags: versionFlags, load: () => import('./version.ts') }, []),
  }
  yield* podFiles(place, complain)
  const { backup, restore } = call.flags
  if (backup) {
    const describe = { flags: backupDescribeFlags, load: () => import('./backup-describe.ts') }
    const logs = { flags: logsFlags, load: () => import('./backup-logs.ts') }
    yield { path: `backup_describe_${backup}.txt`, content: printed(call, describe, [backup]) }
    yield { path: `backup_${backup}.log`, content: printed(call, logs, [backup]) }
  }
  if (restore) {
    const describe = { flags: restoreDescribeFlags, load: () => import('./restore-describe.ts') }
    const logs = { flags: logsFlags, load: () => import('./restore-logs.ts') }
    yield { path: `restore_describe_${restore}.txt`, content: printed(call, describe, [restore]) }
    yield { path: `restore_${restore}.log`, content: printed(call, logs, [restore]) }
  }
}

interface InnerCommand<F extends FlagSet> {
  readonly flags: F
  readonly load: () => Promise<CommandModule<F>>
}

/** What a command prints; how it fails is the end of that. */
async function* printed<F extends FlagSet>(
  call: Call,
  { flags, load }: InnerCommand<F>,
  args: readonly string[],
): AsyncGenerator<string> {
  const stderr = new PassThrough()
  const inner = {
    ...call,
    args,
    flags: readFlagValues(flags, new Map(detailed(flags))),
    // No terminal: no colours.
    surroundings: { ...call.surroundings, stdout: new PassThrough(), stderr },
  } as unknown as CommandCall<F>
  try {
    const result = await (await load()).run(inner)
    if (result.show === 'text') yield* masked(result.chunks)
    if (result.show === 'lines') for await (const line of result.lines) yield* masked(lineOf(line))
  } catch (error) {
    call.surroundings.signal.throwIfAborted()
    yield `${textWithoutSecrets(errorReason(error))}\n`
  }
  yield textWithoutSecrets(String(stderr.read() ?? ''))
}

function detailed(flags: FlagSet): [string, string[]][] {
  return 'details' in flags ? [['details', ['true']]] : []
}

async function* lineOf(line: unknown): AsyncGenerator<string> {
  if (typeof line === 'string') yield `${line}\n`
}
