import { stringify } from 'yaml'
import {
  nodeAgentRightsObjects,
  rightsObjects,
  type ServerRight,
} from '../../packages/cli/src/install/cluster-role.ts'
import { nodeAgentAccountName } from '../../packages/cli/src/install/node-agent-role.ts'
import type { GeneratedFiles } from './generated-files.ts'

const bundles: Record<string, { grants: readonly ServerRight[]; about: string }> = {
  backup: { grants: ['backup', 'hooks'], about: 'takes backups and runs their hooks' },
  'backup-and-restore': {
    grants: ['backup', 'hooks', 'restore', 'restore-roles'],
    about: 'takes backups, restores them, roles included, and runs hooks',
  },
}

/** Roles to apply by hand, for a server in the namespace velero. */
export function generateRights(): GeneratedFiles {
  const files = Object.entries(bundles).map(([name, { grants, about }]) => {
    const account = { namespace: 'velero', serviceAccountName: 'velero' }
    const objects = rightsObjects({ grants, apiGroups: ['*'] }, account)
    const head = `# For a server that ${about}: lateen install --rights ${grants.join(',')}. docs/rights.md explains each rule.\n`
    return [`deploy/rbac/${name}.yaml`, head + documents(objects)] as const
  })
  const account = { namespace: 'velero', serviceAccountName: nodeAgentAccountName }
  const head = `# For node agents and movers, beside either of the others, under the account ${nodeAgentAccountName}. docs/rights.md explains each rule.\n`
  return new Map([
    ...files,
    ['deploy/rbac/node-agent.yaml', head + documents(nodeAgentRightsObjects(account))],
  ])
}

function documents(objects: readonly object[]): string {
  return objects.map(object => `---\n${stringify(object, printing)}`).join('')
}

const printing = { lineWidth: 110, aliasDuplicateObjects: false }
