import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { apiRequests } from './api-request.ts'
import { ClusterError } from './cluster-error.ts'
import { type ClusterPlan, filesOf, nodeName, reachableAddress } from './cluster-layout.ts'
import type { Component } from './component.ts'
import { csiAccessOf } from './csi/csi-access.ts'
import { waitUntil } from './wait-until.ts'

type Components = ReadonlyMap<string, Component>

export async function waitForApiServer(plan: ClusterPlan, components: Components): Promise<void> {
  const request = await apiRequests(plan)
  await waitFor(
    { plan, components, part: 'kube-apiserver', what: 'the API server does not become ready' },
    async () => {
      return (await request('/readyz'))?.status === 200
    },
  )
}

/** Pods can only be created once the controller manager has made the namespace's default account. */
export async function waitForDefaultServiceAccount(plan: ClusterPlan, components: Components): Promise<void> {
  const request = await apiRequests(plan)
  await waitFor(
    { plan, components, part: 'kube-controller-manager', what: 'no default service account appears' },
    async () => {
      return (await request('/api/v1/namespaces/default/serviceaccounts/default'))?.status === 200
    },
  )
}

export async function waitForS3(plan: ClusterPlan, components: Components): Promise<void> {
  await waitFor({ plan, components, part: 'versitygw', what: 'the S3 server does not listen' }, () =>
    listens(reachableAddress(plan), plan.ports.s3),
  )
}

export async function waitForNode(plan: ClusterPlan, components: Components): Promise<void> {
  const request = await apiRequests(plan)
  await waitFor({ plan, components, part: 'kubelet', what: 'the node does not become ready' }, async () => {
    const answer = await request(`/api/v1/nodes/${nodeName}`)
    if (answer?.status !== 200) return false
    const conditions: { type: string; status: string }[] = JSON.parse(answer.body).status?.conditions ?? []
    return conditions.some(condition => condition.type === 'Ready' && condition.status === 'True')
  })
}

/** A driver can be used once the kubelet has told the cluster about it. */
export async function waitForCsiDriver(plan: ClusterPlan, components: Components): Promise<void> {
  const request = await apiRequests(plan)
  const what = 'the kubelet does not find the CSI driver'
  await waitFor({ plan, components, part: 'csi-driver', what }, async () => {
    const answer = await request(`/apis/storage.k8s.io/v1/csinodes/${nodeName}`)
    const drivers: { name: string }[] =
      answer?.status === 200 ? (JSON.parse(answer.body).spec.drivers ?? []) : []
    return drivers.some(({ name }) => name === csiAccessOf(plan).driver)
  })
}

interface Awaited {
  plan: ClusterPlan
  components: Components
  /** The component whose log explains a failure. */
  part: string
  what: string
}

async function waitFor(awaited: Awaited, ask: () => Promise<boolean>): Promise<void> {
  const component = awaited.components.get(awaited.part)
  const failure = async (reason: string) =>
    new ClusterError('CLUSTER_FAILED', `${awaited.what}: ${awaited.part} ${reason}`, {
      hint: `The end of its log:\n${await tail(filesOf(awaited.plan).log(awaited.part))}`,
    })
  await waitUntil(
    async () => {
      if (component && !component.running) throw await failure('ended')
      return ask()
    },
    { timeoutMs: 120_000, failure: () => failure('gave no sign within 120 s') },
  )
}

async function tail(file: string): Promise<string> {
  const content = await readFile(file, 'utf8').catch(() => '')
  return content.trimEnd().split('\n').slice(-15).join('\n')
}

function listens(host: string, port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host, port })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
