/** Does one thing to a repository (`FOLDER PASSWORD ACT SOURCE`) and says `begin` before it. For tests that kill it half-way. */
import { type KillableAct, killableActs, openFolder } from './repo-kill-acts.ts'

const [folder = '', password = '', act = '', source = ''] = process.argv.slice(2)
await using repository = await openFolder(folder, password)
process.stdout.write('begin\n')
await killableActs[act as KillableAct](repository, source)
