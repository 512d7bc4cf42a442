import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
import { clusterRules, namespaceRules, type Rights, rightsObjects, serverRights } from './cluster-role.ts'
import { nodeAgentClusterRules, nodeAgentNamespaceRules } from './node-agent-role.ts'
import { rightsFrom } from './rights-from-flags.ts'

const everything: Rights = { grants: serverRights, apiGroups: ['*'] }
const named: Rights = { grants: serverRights, apiGroups: ['example.com'] }

/** What a role allows that grants this much, as `verb resource`. */
function allowed(grants: Rights['grants'], apiGroups = ['example.com']): string[] {
  return clusterRules({ grants, apiGroups }).flatMap(({ rule }) =>
    rule.verbs.flatMap(verb => (rule.resources ?? []).map(resource => `${verb} ${resource}`)),
  )
}

describe('The role of a server', () => {
  it('lets one that takes backups read, write the objects of snapshots and volumes, and nothing else', () => {
    const written = clusterRules({ grants: ['backup'], apiGroups: ['*'] })
      .map(({ rule }) => rule)
      .filter(({ verbs }) => verbs.some(verb => verb !== 'get' && verb !== 'list'))
    assert.deepEqual(
      new Set(written.flatMap(({ apiGroups }) => apiGroups)),
      new Set(['snapshot.storage.k8s.io', 'groupsnapshot.storage.k8s.io', '']),
    )
    const resources = written.flatMap(({ resources: each = [] }) => each)
    const others = resources.filter(name => !name.includes('snapshot'))
    assert.deepEqual(others, ['persistentvolumes'])
  })

  it('lets only one that runs hooks run commands', () => {
    assert.ok(allowed(['backup', 'hooks']).includes('create pods/exec'))
    assert.ok(!allowed(['backup', 'restore']).includes('create pods/exec'))
  })

  it('lets only one that restores roles grant what it does not have', () => {
    assert.ok(allowed(['restore', 'restore-roles']).includes('escalate roles'))
    assert.ok(!allowed(['restore']).includes('escalate roles'))
  })

  it('lets only one that recreates delete', () => {
    assert.ok(allowed(['restore', 'recreate']).includes('delete configmaps'))
    assert.ok(
      allowed(['backup', 'hooks', 'restore', 'restore-roles'])
        .filter(each => each.startsWith('delete'))
        .every(each => each.includes('snapshot')),
    )
  })

  it('holds no tokens, proxies or other subresources of the core group when API groups are named', () => {
    const ofCore = clusterRules(named).filter(({ rule }) => rule.apiGroups?.includes(''))
    const resources = ofCore.flatMap(({ rule }) => rule.resources ?? [])
    assert.ok(!resources.includes('*'))
    assert.deepEqual(
      new Set(resources.filter(name => name.includes('/'))),
      new Set(['pods/exec', '*/status']),
    )
  })

  it('is explained rule by rule in docs/rights.md', async () => {
    const text = await readFile(path.resolve(import.meta.dirname, '../../../../docs/rights.md'), 'utf8')
    const ofAgents = [...nodeAgentClusterRules, ...nodeAgentNamespaceRules]
    const ofServers = [...clusterRules(everything), ...clusterRules(named), ...namespaceRules]
    for (const { id } of [...ofServers, ...ofAgents]) {
      assert.ok(text.includes(`\`${id}\``), id)
    }
    for (const right of serverRights) assert.ok(text.includes(`| \`${right}\` |`), right)
  })

  it('is bound to the account that is named, in the namespace of the server', () => {
    const objects = rightsObjects(named, { namespace: 'other', serviceAccountName: 'mine' }) as {
      kind: string
      metadata: { name: string; namespace?: string }
      subjects?: object[]
    }[]
    assert.deepEqual(
      objects.map(({ kind, metadata }) => [kind, metadata.name, metadata.namespace]),
      [
        ['ClusterRole', 'lateen-other', undefined],
        ['ClusterRoleBinding', 'lateen-other', undefined],
        ['Role', 'lateen', 'other'],
        ['RoleBinding', 'lateen', 'other'],
      ],
    )
    const subject = { kind: 'ServiceAccount', name: 'mine', namespace: 'other' }
    assert.deepEqual(objects[1]?.subjects, [subject])
    assert.deepEqual(objects[3]?.subjects, [subject])
  })
})

describe('The role of node agents', () => {
  it('lets them change nothing outside of their namespace but snapshots and the binding of volumes, and read no Secret there', () => {
    const changes = nodeAgentClusterRules.flatMap(({ rule: { verbs, resources = [] } }) =>
      verbs
        .filter(verb => !['get', 'list', 'watch'].includes(verb))
        .flatMap(verb => resources.map(name => `${verb} ${name}`)),
    )
    const ofSnapshots = ['create', 'patch', 'delete'].flatMap(verb => [
      `${verb} volumesnapshots`,
      `${verb} volumesnapshotcontents`,
    ])
    assert.deepEqual(
      new Set(changes),
      new Set(['patch persistentvolumeclaims', 'patch persistentvolumes', ...ofSnapshots]),
    )
    assert.ok(!nodeAgentClusterRules.some(({ rule }) => rule.resources?.includes('secrets')))
  })

  it('has no wildcard', () => {
    for (const { rule } of [...nodeAgentClusterRules, ...nodeAgentNamespaceRules]) {
      const words = [...(rule.apiGroups ?? []), ...(rule.resources ?? []), ...rule.verbs]
      assert.ok(!words.includes('*'), words.join(' '))
    }
  })
})

describe('rightsFrom', () => {
  const of = (rights: string, groups = '') =>
    rightsFrom({
      rights: rights.split(',').filter(Boolean),
      'rights-api-groups': groups.split(',').filter(Boolean),
    })

  it('means everything when nothing is said', () => {
    assert.equal(of(''), undefined)
    assert.equal(of('cluster-admin'), undefined)
  })

  it('takes rights in any order, and all API groups unless some are named', () => {
    assert.deepEqual(of('hooks,backup'), { grants: ['backup', 'hooks'], apiGroups: ['*'] })
    assert.deepEqual(of('backup', 'a.io,b.io'), { grants: ['backup'], apiGroups: ['a.io', 'b.io'] })
  })

  const refused: [rights: string, groups: string, message: RegExp][] = [
    ['backups', '', /does not know "backups"/],
    ['cluster-admin,backup', '', /stands alone/],
    ['', 'a.io', /needs --rights/],
    ['backup,recreate', '', /recreate is of no use without restore/],
    ['backup,restore-roles', '', /restore-roles is of no use without restore/],
    ['hooks', '', /needs backup, restore, or both/],
    ['backup', 'A.io', /"A.io" is no API group/],
  ]
  for (const [rights, groups, message] of refused) {
    it(`refuses --rights=${rights} --rights-api-groups=${groups}`, () => {
      assert.throws(() => of(rights, groups), message)
    })
  }
})
