/** One long test: which files run, and how many seeds they get. */
export interface SoakPlan {
  name: string
  /** What it shows when it passes, for the report. */
  shows: string
  /** Parts of the paths of the test files, as `tools/test/run.ts --only` takes them. */
  files: string[]
  seeds: number
  /** Variables beyond the seeds that the files read. */
  env?: Record<string, string>
  timeoutMinutes: number
}

/** Every soak there is. A test file that uses `rotatingSeeds` belongs to one of them. */
export const soakPlans: SoakPlan[] = [
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
]
