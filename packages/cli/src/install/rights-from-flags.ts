import { CliError } from '../cli-error.ts'
import { type Rights, type ServerRight, serverRights } from './cluster-role.ts'

/** The flags that say what the server may do. */
export interface RightsFlags {
  readonly rights: readonly string[]
  readonly 'rights-api-groups': readonly string[]
}

const group = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

/** What the server may do; undefined for everything. Throws a CliError for rights that do not exist or contradict each other. */
export function rightsFrom(flags: RightsFlags): Rights | undefined {
  const { rights, 'rights-api-groups': groups } = flags
  if (rights.length === 0 || rights.includes('cluster-admin')) {
    if (rights.length > 1) refuse('--rights=cluster-admin stands for all rights and stands alone')
    if (groups.length > 0) {
      refuse('--rights-api-groups narrows rights and needs --rights', 'such as --rights=backup,hooks')
    }
    return undefined
  }
  const unknown = rights.find(name => !isRight(name))
  if (unknown !== undefined) {
    refuse(
      `--rights does not know ${JSON.stringify(unknown)}`,
      `cluster-admin alone, or a list of ${serverRights.join(', ')}`,
    )
  }
  const needed = [['restore-roles', 'restore'] as const, ['recreate', 'restore'] as const]
  const alone = needed.find(([right, needs]) => rights.includes(right) && !rights.includes(needs))
  if (alone !== undefined) refuse(`--rights=${alone[0]} is of no use without ${alone[1]}`)
  if (!rights.includes('backup') && !rights.includes('restore')) {
    refuse('--rights needs backup, restore, or both')
  }
  const badGroup = groups.find(name => name !== '*' && !group.test(name))
  if (badGroup !== undefined) {
    refuse(`--rights-api-groups: ${JSON.stringify(badGroup)} is no API group`, 'such as cert-manager.io')
  }
  return {
    grants: serverRights.filter(right => rights.includes(right)),
    apiGroups: groups.length === 0 ? ['*'] : groups,
  }
}

function isRight(name: string): name is ServerRight {
  return (serverRights as readonly string[]).includes(name)
}

function refuse(message: string, hint?: string): never {
  throw new CliError('USAGE', message, hint === undefined ? {} : { hint })
}
