import path from 'node:path'
import { tools } from '../../binaries/tool.ts'
import { type ClusterPlan, filesOf, nodeName } from '../cluster-layout.ts'
import type { ComponentPlan } from '../component.ts'
import { flags } from '../control-plane.ts'
import { csiAccessOf, registrationSocket, socketInNode } from './csi-access.ts'

const driverProgram = path.join(import.meta.dirname, '../../../test/csi-driver/main.ts')

/** The driver, to be run inside the node. Its state has the path that it has outside, for what is left of it to be found there. */
export function csiDriver(plan: ClusterPlan): ComponentPlan {
  const { driver, stateFolder } = csiAccessOf(plan)
  const options = {
    name: driver,
    'node-id': nodeName,
    state: stateFolder,
    socket: socketInNode,
    'registration-socket': registrationSocket,
  }
  return { name: 'csi-driver', command: process.execPath, args: [driverProgram, ...flags(options)] }
}

/** Kubernetes' own programs between API server and driver, to be run outside. Each has the user of its name. */
export async function csiSidecars(plan: ClusterPlan): Promise<ComponentPlan[]> {
  const paths = await tools(['csi-provisioner', 'csi-snapshotter', 'snapshot-controller'])
  const address = { 'csi-address': csiAccessOf(plan).socket, timeout: '60s' }
  // A test waits for every retry, and for every request that is held back.
  const haste = {
    'retry-interval-start': '200ms',
    'retry-interval-max': '5s',
    'kube-api-qps': 100,
    'kube-api-burst': 200,
  }
  const groups = { 'feature-gates': 'CSIVolumeGroupSnapshot=true' }
  const options = {
    'snapshot-controller': { ...haste, ...groups },
    // It looks only then again at a content that was deleted while its snapshot was being taken.
    'csi-snapshotter': { ...address, ...haste, ...groups, 'resync-period': '5s' },
    'csi-provisioner': { ...address, ...haste, 'extra-create-metadata': true },
  }
  return sidecarNames.map(name => ({
    name,
    command: paths[name],
    // They end when they lose the driver.
    restarts: true,
    args: flags({ kubeconfig: filesOf(plan).kubeconfigOf(name), ...options[name] }),
  }))
}

export const sidecarNames = ['snapshot-controller', 'csi-snapshotter', 'csi-provisioner'] as const

export type SidecarName = (typeof sidecarNames)[number]
