/** One long test: which files run, and how many seeds they get. */
export interface SoakPlan {
  name: string
  /** What it shows when it passes, for the report. */
  shows: string
  /** Parts of the paths of the test files, as `tools/test/run.ts --only` takes them. */
  files: string[]
  seeds: number
  /** The files take one seed a run: they run once for each. */
  oneSeedPerRun?: boolean
  /** Variables beyond the seeds that the files read. */
  env?: Record<string, string>
  timeoutMinutes: number
}

/** Every soak there is. A test file that uses `rotatingSeeds` belongs to one of them. */
export const soakPlans: SoakPlan[] = [
  {
    name: 'interrupted-quickstart',
    shows: 'a quickstart that is interrupted while it starts the cluster or installs leaves nothing behind',
    files: ['test/cluster/quickstart.test.ts'],
    seeds: 8,
    timeoutMinutes: 30,
  },
  {
    name: 'node-agent-rights',
    shows: 'node agents need each rule of their roles, and say so when one is missing',
    files: ['test/cluster/node-agent-rights.test.ts'],
    seeds: 17,
    timeoutMinutes: 20,
  },
  {
    name: 'killed-csi-driver',
    shows:
      'the CSI driver of the tests, killed at any instant, has whole volumes, snapshots and groups and no others',
    files: ['test/compat/csi-driver-kill.test.ts'],
    seeds: 100,
    timeoutMinutes: 30,
  },
  {
    name: 'seeded-random',
    shows: 'the generator that other soaks draw from is even and complete for any seed',
    files: ['tools/test/seeds.test.ts'],
    seeds: 1000,
    timeoutMinutes: 10,
  },
  {
    name: 'killed-put',
    shows: 'a put into a folder that is killed leaves the old object or the new one, whole',
    files: ['packages/server/src/object-store/filesystem-kill.test.ts'],
    seeds: 200,
    timeoutMinutes: 30,
  },
  {
    name: 'killed-snapshots',
    shows:
      'a server that is killed while it takes native snapshots, or waits for them, leaves none behind that no backup lists',
    files: ['test/cluster/native-snapshots-kill.test.ts'],
    seeds: 60,
    timeoutMinutes: 60,
  },
  {
    name: 'killed-install',
    shows:
      'an installation or a removal that is killed at any moment is finished by the same command, and leaves nothing in the end',
    files: ['test/cluster/install-interrupted.test.ts'],
    seeds: 40,
    timeoutMinutes: 60,
  },
  {
    name: 'killed-server',
    shows: 'a server that is killed at any moment sees after its restart what changed meanwhile',
    files: ['test/cluster/storage-location-restart.test.ts'],
    seeds: 60,
    timeoutMinutes: 30,
  },
  {
    name: 'killed-repository',
    shows:
      'kopia verifies every complete snapshot after an upload, a delete or a maintenance was killed, and the next upload works',
    files: ['test/compat/repo-kill.test.ts'],
    seeds: 1000,
    timeoutMinutes: 180,
  },
  {
    name: 'repository-matrix',
    shows:
      'repositories that kopia made with every hash, cipher, splitter, compressor and format version are read, and verified by kopia after we wrote',
    files: ['test/compat/repo-matrix.test.ts'],
    seeds: 1,
    oneSeedPerRun: true,
    timeoutMinutes: 60,
  },
  {
    name: 'repository-trees',
    shows: 'uploads, reads and maintenance of any tree agree with kopia',
    files: [
      'test/compat/repo-interop.test.ts',
      'test/compat/repo-upload.test.ts',
      'test/compat/repo-policy.test.ts',
      'test/compat/repo-maintenance.test.ts',
      'test/compat/repo-edges.test.ts',
    ],
    seeds: 5,
    oneSeedPerRun: true,
    timeoutMinutes: 60,
  },
  {
    name: 'maintenance-model',
    shows:
      'no schedule of writers, deleters and two maintainers makes maintenance delete what a snapshot needs',
    files: [
      'packages/repo/src/maintenance/model/run-model.test.ts',
      'packages/repo/src/maintenance/interrupted-run.test.ts',
    ],
    seeds: 30,
    timeoutMinutes: 60,
  },
  {
    name: 'both-at-once',
    shows:
      'kopia and Lateen verify and restore what both wrote to one repository and maintained at the same time',
    files: ['test/compat/repo-both-at-once.test.ts'],
    seeds: 20,
    timeoutMinutes: 60,
  },
  {
    name: 'storage-faults',
    shows:
      'nothing is lost when the storage fails, throttles, times out, gives half bodies or stale lists during any act, and the next one succeeds',
    files: ['test/compat/repo-faults.test.ts'],
    seeds: 300,
    timeoutMinutes: 120,
  },
  {
    name: 's3-faults',
    shows: 'the engine over the real S3 client outlasts a network that resets, cuts, stalls and throttles',
    files: ['test/cluster/repo-s3-faults.test.ts'],
    seeds: 100,
    timeoutMinutes: 60,
  },
  {
    name: 'clock-jumps',
    shows:
      'a clock that is set during uploads, deletions and maintenance ends them with one error or does no harm',
    files: ['test/compat/repo-clock-jumps.test.ts'],
    seeds: 200,
    timeoutMinutes: 120,
  },
  {
    name: 'backup-filters',
    shows: 'backups with any filters hold the same items as those of Velero, which the same cluster gave',
    files: ['test/compat/backup-filter-matrix.test.ts'],
    seeds: 60,
    timeoutMinutes: 90,
  },
  {
    name: 'restore-plan',
    shows: 'a plan says of any restore, item by item, what the restore then does',
    files: ['test/cluster/restore-plan.test.ts'],
    seeds: 40,
    timeoutMinutes: 30,
  },
  {
    name: 'restore-matrix',
    shows: 'restores of any kind leave the cluster as those of Velero do, and tell the same',
    files: ['test/compat/restore-matrix.test.ts'],
    seeds: 60,
    timeoutMinutes: 90,
  },
  {
    name: 'killed-backup',
    shows:
      'a server that is killed while it takes backups leaves nothing half done after its restart, in the cluster or in the bucket',
    files: ['test/cluster/backup-kill.test.ts'],
    seeds: 200,
    timeoutMinutes: 90,
  },
  {
    name: 'killed-operations',
    shows:
      'a server that is killed while backups have operations of plugins: every backup ends, what is Completed is whole, and nothing goes on that nobody waits for',
    files: ['test/cluster/backup-operations-kill.test.ts'],
    seeds: 200,
    timeoutMinutes: 90,
  },
  {
    name: 'failing-bucket',
    shows: 'a bucket that throttles, resets, cuts and loses answers does no harm to a backup',
    files: ['test/cluster/backup-bucket-faults.test.ts'],
    seeds: 100,
    timeoutMinutes: 60,
  },
  {
    name: 'killed-restore',
    shows:
      'a server that is killed while it restores leaves no restore behind after its restart, and the next restore brings back everything',
    files: ['test/cluster/restore-kill.test.ts'],
    seeds: 200,
    timeoutMinutes: 90,
  },
  {
    name: 'killed-movers',
    shows:
      'server, node agents and movers that are killed while the files of volumes move: everything ends, no snapshot is lost that was told of, and the next backup and restore are whole',
    files: ['test/cluster/fs-kill.test.ts'],
    seeds: 300,
    timeoutMinutes: 240,
  },
  {
    name: 'killed-csi',
    shows:
      'server, node agents and movers that are killed while volumes are snapshot, moved, restored and deleted: nothing is left behind, and the driver has what whole backups need and nothing else',
    files: ['test/cluster/csi-kill.test.ts'],
    seeds: 300,
    timeoutMinutes: 240,
  },
  {
    name: 'killed-restore-operations',
    shows:
      'a server that is killed while restores have operations of plugins: every restore ends, and nothing goes on that nobody waits for',
    files: ['test/cluster/restore-operations-kill.test.ts'],
    seeds: 60,
    timeoutMinutes: 60,
  },
  {
    name: 'killed-deletion',
    shows:
      'a server that is killed while it deletes backups leaves nothing of them in bucket and cluster after its restart',
    files: ['test/cluster/backup-deletion-kill.test.ts'],
    seeds: 200,
    timeoutMinutes: 120,
  },
  {
    name: 'restoring-turns',
    shows: 'two servers never restore the same, though one falls asleep at any moment and wakes up again',
    files: ['test/cluster/restore-two-servers.test.ts'],
    seeds: 30,
    timeoutMinutes: 60,
  },
  {
    name: 'paused-leader',
    shows:
      'a leader that is stopped at any moment for longer than its lease lasts begins no change when it goes on, in cluster or bucket',
    files: ['test/cluster/leader-paused.test.ts'],
    seeds: 60,
    timeoutMinutes: 60,
  },
  {
    name: 'killed-plugin',
    shows:
      'a plugin program that is killed at any moment fails the calls that are under way and none that comes later, and nothing of it stays',
    files: ['test/compat/plugin-host-kill.test.ts'],
    seeds: 100,
    timeoutMinutes: 60,
  },
  {
    name: 'killed-store-plugin',
    shows:
      'while the program that keeps backups is killed again and again, no backup is Completed that is not whole, and the server goes on',
    files: ['test/compat/plugin-host-aws.test.ts'],
    seeds: 20,
    timeoutMinutes: 60,
  },
  {
    name: 'killed-schedule',
    shows: 'a server that is killed at any moment makes no two backups of a schedule for the same time',
    files: ['test/cluster/schedules.test.ts'],
    seeds: 100,
    timeoutMinutes: 60,
  },
  {
    name: 'killed-sync',
    shows:
      'a server that is killed while it looks at a bucket shows in the end what the bucket has, and nothing else',
    files: ['test/cluster/backup-sync-kill.test.ts'],
    seeds: 100,
    timeoutMinutes: 60,
  },
  {
    name: 'cron',
    shows: "any cron expression means what it means to Velero's parser, also where clocks are changed",
    files: ['test/compat/cron-times.test.ts'],
    seeds: 200,
    timeoutMinutes: 30,
  },
  {
    name: 'mixed-life',
    shows:
      'after a thousand backups, restores, cancels, deletions and schedules, with a server that is killed again and again, nothing is left over',
    files: ['test/cluster/mixed-life.test.ts'],
    seeds: 50,
    timeoutMinutes: 90,
  },
  {
    name: 'missing-rights',
    shows:
      'a role without any one of its rules is told of, with the verb, the resource and the remedy; with all of them a server does what one may do that is cluster-admin',
    files: ['test/cluster/missing-rights.test.ts', 'test/cluster/least-privilege.test.ts'],
    seeds: 23,
    timeoutMinutes: 30,
  },
  {
    name: 'flat-memory',
    shows: 'the memory of a server does not grow over 200 backups, restores and deletions in a row',
    files: ['test/cluster/flat-memory.test.ts'],
    seeds: 1,
    timeoutMinutes: 60,
  },
]
