import { runCommand } from '../../binaries/run-command.ts'
import { tool } from '../../binaries/tool.ts'
import { type ClusterPlan, filesOf } from '../cluster-layout.ts'
import { type Component, createComponent } from '../component.ts'
import { writeKubeconfig } from '../kubeconfig.ts'
import { insideNode, type NodeNamespaces } from '../node/namespaces.ts'
import { signCertificate } from '../pki.ts'
import { waitForCsiDriver } from '../readiness.ts'
import { untilEstablished } from '../until-established.ts'
import { waitUntil } from '../wait-until.ts'
import { csiAccessOf } from './csi-access.ts'
import { csiClasses } from './csi-classes.ts'
import { csiDriver, csiSidecars, sidecarNames } from './csi-components.ts'
import { csiRoles } from './csi-rights.ts'
import { snapshotCrds } from './snapshot-crds.ts'

interface Owner {
  start: (component: Component) => void
  components: ReadonlyMap<string, Component>
}

/** Brings up the test CSI driver in the node, the programs that use it, and their definitions, rights and classes. */
export async function startCsi(plan: ClusterPlan, namespaces: NodeNamespaces, owner: Owner): Promise<void> {
  owner.start(createComponent(plan, insideNode(namespaces, csiDriver(plan))))
  await Promise.all([defineSnapshots(plan), ...sidecarNames.map(name => createUser(plan, name))])
  await createObjects(plan, [...csiRoles(), ...csiClasses(csiAccessOf(plan))])
  await Promise.all(sidecarNames.map(name => untilRightsCount(plan, name)))
  for (const sidecar of await csiSidecars(plan)) owner.start(createComponent(plan, sidecar))
  await waitForCsiDriver(plan, owner.components)
}

const groupContents = 'crd/volumegroupsnapshotcontents.groupsnapshot.storage.k8s.io'

/** Between its two versions stands a webhook that is not here. Without it the old one would lose what only the new one has. */
const withoutOldVersion = [
  { op: 'replace', path: '/spec/conversion', value: { strategy: 'None' } },
  { op: 'test', path: '/spec/versions/0/name', value: 'v1beta1' },
  { op: 'replace', path: '/spec/versions/0/served', value: false },
]

async function defineSnapshots(plan: ClusterPlan): Promise<void> {
  const files = (await snapshotCrds()).flatMap(file => ['-f', file])
  const created = await kubectl(plan, ['create', ...files, '-o', 'name'])
  await kubectl(plan, ['patch', groupContents, '--type=json', '-p', JSON.stringify(withoutOldVersion)])
  const names = created.trim().split('\n')
  await untilEstablished(
    { kubectl: args => kubectl(plan, args) },
    ...names.map(name => name.slice(name.indexOf('/') + 1)),
  )
}

async function createUser(plan: ClusterPlan, name: string): Promise<void> {
  await signCertificate(plan, { file: name, commonName: name })
  await writeKubeconfig(plan, { certificate: name, target: filesOf(plan).kubeconfigOf(name) })
}

/** The API server takes a moment to know of a role, and its program would be refused and say so. */
async function untilRightsCount(plan: ClusterPlan, name: string): Promise<void> {
  const access = ['--kubeconfig', filesOf(plan).kubeconfigOf(name)]
  const ask = [...access, 'auth', 'can-i', 'patch', 'events', '--all-namespaces', '--quiet']
  const program = await tool('kubectl')
  const isAllowed = () =>
    runCommand(program, ask).then(
      () => true,
      () => false,
    )
  await waitUntil(isAllowed, { timeoutMs: 60_000, failure: () => new Error(`${name} has no rights`) })
}

async function createObjects(plan: ClusterPlan, items: readonly object[]): Promise<void> {
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await kubectl(plan, ['create', '-f', '-'], stdin)
}

async function kubectl(plan: ClusterPlan, args: readonly string[], stdin = ''): Promise<string> {
  return runCommand(await tool('kubectl'), ['--kubeconfig', filesOf(plan).kubeconfig, ...args], { stdin })
}
