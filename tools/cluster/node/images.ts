import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tool } from '../../binaries/tool.ts'
import { busyboxImage } from '../../image/busybox-image.ts'
import { type Image, writeImageArchive } from '../../image/oci-image.ts'
import { type ClusterPlan, filesOf } from '../cluster-layout.ts'
import { containerdSocket } from './containerd.ts'
import { joinNamespaces, type NodeNamespaces } from './namespaces.ts'

/** Makes the image that test workloads and every pod's sandbox use, and imports it. */
export async function importWorkloadImage(plan: ClusterPlan, namespaces: NodeNamespaces): Promise<void> {
  const image = await busyboxImage({ busybox: await tool('busybox') })
  const archive = archiveOf(plan, image)
  await writeImageArchive(image, archive)
  await importArchive(namespaces, archive)
  await rm(archive)
}

/** Makes an image archive known to the node of a running cluster. */
export async function loadImage(plan: ClusterPlan, archive: string): Promise<void> {
  await importArchive(await joinNamespaces(plan), archive)
}

/** Writes an image and makes it known to the node of a running cluster. */
export async function deliverImage(plan: ClusterPlan, image: Image, signal?: AbortSignal): Promise<void> {
  const archive = archiveOf(plan, image)
  await writeImageArchive(image, archive, signal)
  await importArchive(await joinNamespaces(plan), archive)
  await rm(archive)
}

/** A file of its own: several test files may deliver the same image at the same time. */
function archiveOf(plan: ClusterPlan, { name }: Image): string {
  return filesOf(plan).data(`${name.replaceAll(/[^a-z0-9]/gi, '-')}-${randomUUID()}.tar`)
}

async function importArchive(namespaces: NodeNamespaces, archive: string): Promise<void> {
  await namespaces.run('ctr', ['--address', containerdSocket, '-n', 'k8s.io', 'images', 'import', archive])
}
