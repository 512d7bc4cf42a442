import { BackupKind, type PhaseMachine, RestoreKind } from '@lateen/api'
import { type KubeObject, type ResourceType, unlessNotFound } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import { hasEnded } from '../commands/has-ended.ts'
import type { InstallPorts } from './install-ports.ts'

const MOST_NAMES = 5

interface Phased extends KubeObject {
  status?: { phase?: string }
}

/** Throws a CliError (`REFUSED`) that names the backups and restores under way. */
export async function requireIdle(namespace: string, ports: InstallPorts): Promise<void> {
  const backups = await underWay(BackupKind, namespace, ports)
  const restores = await underWay(RestoreKind, namespace, ports)
  const running = [named('backup', backups), named('restore', restores)].filter(text => text !== '')
  if (running.length === 0) return
  throw new CliError('REFUSED', `nothing was removed, because work is under way: ${running.join('; ')}`, {
    hint: "wait for it to end, stop it with 'lateen backup cancel' or 'lateen restore cancel', or give --force: what is unfinished is then lost",
  })
}

async function underWay(
  kind: ResourceType<Phased> & { readonly phases?: PhaseMachine },
  namespace: string,
  { client, signal }: InstallPorts,
): Promise<string[]> {
  const names: string[] = []
  try {
    for await (const { metadata, status } of client.resource(kind, namespace).list({ signal })) {
      const phase = status?.phase ?? ''
      // Nobody has taken up what is new, and nothing of it would be lost.
      if (phase === '' || phase === 'New' || hasEnded(kind, phase)) continue
      names.push(`${metadata.name} (${phase})`)
    }
  } catch (error) {
    unlessNotFound(error)
  }
  return names
}

function named(noun: string, names: readonly string[]): string {
  if (names.length === 0) return ''
  const shown = names.slice(0, MOST_NAMES).join(', ')
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : ''
  return `${noun}${names.length === 1 ? '' : 's'} ${shown}${more}`
}
