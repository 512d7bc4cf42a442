import type { KubeObject } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import { applyDefinitions } from '../install/apply-definitions.ts'
import { checkDefinitions } from '../install/check-definitions.ts'
import { checkRights, rightsToApply } from '../install/check-rights.ts'
import { customResourceDefinitions } from '../install/custom-resource-definitions.ts'
import { installInto } from '../install/install-into.ts'
import { installObjects } from '../install/install-objects.ts'
import type { InstallOptions } from '../install/install-options.ts'
import { installOptionsFrom } from '../install/options-from-flags.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { Progress } from '../output/progress.ts'
import type { CommandCall } from '../tree/command.ts'
import type { installFlags } from '../tree/install.ts'
import { readFileFlag } from './read-file-flag.ts'

type Call = CommandCall<typeof installFlags>

/** `install`: changes the cluster, or with `--dry-run` prints what it would be changed into. */
export async function run(call: Call): Promise<CommandResult> {
  const { flags } = call
  if (flags['dry-run']) {
    const objects = flags['crds-only'] ? customResourceDefinitions() : installObjects(await optionsOf(call))
    return show(call, objects)
  }
  if (flags.output !== undefined) {
    throw new CliError('USAGE', '--output prints objects and needs --dry-run', {
      hint: `run 'lateen install --dry-run -o ${flags.output} …'`,
    })
  }
  if (flags['crds-only']) return { show: 'lines', lines: installDefinitions(call) }
  return { show: 'lines', lines: installAll(call, await optionsOf(call)) }
}

async function optionsOf(call: Call): Promise<InstallOptions> {
  const { flags } = call
  const { namespace, features } = await call.settings()
  const secretFile = flags['no-secret'] ? undefined : flags['secret-file']
  return installOptionsFrom({
    flags,
    namespace,
    features,
    secret: secretFile ? await readFileFlag('secret-file', secretFile) : undefined,
    caCert: flags.cacert ? await readFileFlag('cacert', flags.cacert) : undefined,
  })
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
  const ports = { client, clock, signal }
  const all = customResourceDefinitions()
  await checkRights(rightsToApply(all as KubeObject[]), ports, 'ask an administrator of the cluster')
  const { definitions, warnings } = await checkDefinitions(all, ports)
  yield* applyDefinitions(definitions, ports)
  yield* warnings
  yield 'The CustomResourceDefinitions are installed.'
}

async function* installAll(call: Call, options: InstallOptions): AsyncGenerator<string | Progress> {
  const { flags, surroundings } = call
  const { clock, signal } = surroundings
  await using client = await call.connect()
  yield* installInto(options, {
    ports: { client, clock, signal },
    ...(flags.wait ? { waitMs: flags['wait-timeout'].milliseconds } : {}),
    configMaps: {
      'node-agent-configmap': flags['node-agent-configmap'],
      'repo-maintenance-job-configmap': flags['repo-maintenance-job-configmap'],
      'backup-repository-configmap': flags['backup-repository-configmap'],
    },
  })
}
