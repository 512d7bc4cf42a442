import { CliError } from '../cli-error.ts'
import { applyDefinitions } from '../install/apply-definitions.ts'
import { customResourceDefinitions } from '../install/custom-resource-definitions.ts'
import { installObjects } from '../install/install-objects.ts'
import { installOptionsFrom } from '../install/options-from-flags.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { installFlags } from '../tree/install.ts'
import { readFileFlag } from './read-file-flag.ts'

type Call = CommandCall<typeof installFlags>

/** `install --crds-only` changes the cluster; `install --dry-run` prints objects; anything else is refused. */
export async function run(call: Call): Promise<CommandResult> {
  const { flags } = call
  if (flags['dry-run'])
    return show(call, flags['crds-only'] ? customResourceDefinitions() : await allObjects(call))
  if (flags.output !== undefined) {
    throw new CliError('USAGE', '--output prints objects and needs --dry-run', {
      hint: `run 'lateen install --dry-run -o ${flags.output} …'`,
    })
  }
  if (flags['crds-only']) return { show: 'lines', lines: installDefinitions(call) }
  throw new CliError('REFUSED', 'this version cannot install its server into a cluster by itself', {
    hint: "apply what 'lateen install --dry-run -o yaml …' prints, or run 'lateen install --crds-only' and then 'lateen server'",
  })
}

async function allObjects(call: Call): Promise<object[]> {
  const { flags } = call
  const { namespace, features } = await call.settings()
  const secretFile = flags['no-secret'] ? undefined : flags['secret-file']
  return installObjects(
    installOptionsFrom({
      flags,
      namespace,
      features,
      secret: secretFile ? await readFileFlag('secret-file', secretFile) : undefined,
      caCert: flags.cacert ? await readFileFlag('cacert', flags.cacert) : undefined,
    }),
  )
}

function show(call: Call, objects: readonly object[]): CommandResult {
  return {
    show: 'objects',
    format: call.flags.output === 'json' ? 'json' : 'yaml',
    listKind: { apiVersion: 'v1', kind: 'List' },
    objects,
  }
}

async function* installDefinitions(call: Call): AsyncGenerator<string> {
  const { clock, signal } = call.surroundings
  await using client = await call.connect()
  yield* applyDefinitions(customResourceDefinitions(), { client, clock, signal })
  yield 'The CustomResourceDefinitions are installed.'
}
