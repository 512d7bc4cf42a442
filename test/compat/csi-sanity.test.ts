import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { detachLoopDevicesBelow, loopDevicesBelow } from '../../tools/cluster/node/loop-devices.ts'
import { withoutDriver } from '../csi-driver/driver-available.ts'
import { driverClient } from '../csi-driver/driver-client.ts'
import { startDriver } from '../csi-driver/driver-process.ts'

/** What the driver does not offer, and the suite therefore leaves out. All else has to pass. */
const notOffered =
  /^(Controller Publish, UnpublishVolume|Controller(Publish|Unpublish|Modify)Volume|Modify [Vv]olume|SNAPSHOT_ACCESSIBILITY_CONSTRAINTS|(Controller|Node)(Get|List)(Volume|Storage)Health) not supported$/

interface Spec {
  LeafNodeType: string
  ContainerHierarchyTexts: string[] | null
  LeafNodeText: string
  State: string
  Failure?: { Message: string }
}

describe('the test CSI driver', { skip: withoutDriver() }, () => {
  let folder = ''
  before(async () => {
    // Not below the folder for temporary files, which may be memory: the suite makes large sparse files.
    folder = await mkdtemp('/var/tmp/lateen-csi-sanity-')
  })
  after(async () => {
    await detachLoopDevicesBelow(folder)
    await rm(folder, { recursive: true, force: true })
  })

  for (const mode of ['mount', 'block']) {
    it(`passes csi-sanity with ${mode} volumes, and has nothing left`, async () => {
      const place = path.join(folder, mode)
      await using driver = await startDriver(place)
      const report = path.join(place, 'report.json')
      const flags = {
        'csi.endpoint': `unix://${driver.socket}`,
        'csi.mountdir': path.join(place, 'mount'),
        'csi.stagingdir': path.join(place, 'staging'),
        'csi.testvolumeaccesstype': mode,
        'csi.testvolumesize': 64 * 1024 ** 2,
        'csi.testvolumeexpandsize': 96 * 1024 ** 2,
        'ginkgo.json-report': report,
      }
      const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
      const ended = runCommand(await tool('csi-sanity'), args)
      await ended.catch(() => {})
      const [{ SpecReports: specs }]: [{ SpecReports: Spec[] }] = JSON.parse(await readFile(report, 'utf8'))
      assert.deepEqual(specs.filter(({ State }) => !/^(passed|skipped|pending)$/.test(State)).map(told), [])
      await ended
      const skipped = specs.filter(({ State }) => State === 'skipped')
      assert.deepEqual(
        skipped.filter(({ Failure }) => !notOffered.test(Failure?.Message ?? '')).map(told),
        [],
      )
      const passed = specs.filter(({ State, LeafNodeType }) => State === 'passed' && LeafNodeType === 'It')
      assert.ok(passed.length >= 70, `only ${passed.length} passed`)

      using client = driverClient(driver.socket)
      assert.deepEqual((await client.controller.listVolumes({})).entries, [])
      assert.deepEqual((await client.controller.listSnapshots({})).entries, [])
      assert.deepEqual(await loopDevicesBelow(place), [])
    })
  }
})

function told({ ContainerHierarchyTexts, LeafNodeText, State, Failure }: Spec): string {
  return [...(ContainerHierarchyTexts ?? []), LeafNodeText, State, Failure?.Message].join(': ')
}
