/** A test program that performs the attack ATTACK on its disk, prints the code of the error that stops the attack, and keeps running. */
export const diskProgram = `
const fs = require('node:fs')
const { join } = require('node:path')
const { ATTACK, HOME, TMPDIR } = process.env
const chunk = Buffer.alloc(1024 * 1024, 1)
const fill = (file, chunks) => {
  const fd = fs.openSync(file, 'a')
  for (let i = 0; i < chunks; i++) for (let from = 0; from < chunk.length; ) from += fs.writeSync(fd, chunk, from)
  fs.closeSync(fd)
}
const attacks = {
  'fill its home': () => { for (let i = 0; i < 10; i++) fill(join(HOME, 'f' + i), 20) },
  'fill its work folder': () => { for (let i = 0; i < 10; i++) fill('f' + i, 20) },
  'fill its temporary folder': () => { for (let i = 0; i < 10; i++) fill(join(TMPDIR ?? HOME, 'f' + i), 20) },
  'create 200,000 files': () => { for (let i = 0; i < 200_000; i++) fs.writeFileSync(join(HOME, 'f' + i), 'x') },
  'create 200,000 hard links': () => {
    fs.writeFileSync(join(HOME, 'f'), 'x')
    for (let i = 0; i < 200_000; i++) fs.linkSync(join(HOME, 'f'), join(HOME, 'l' + i))
  },
  'create 200,000 long links': () => { for (let i = 0; i < 200_000; i++) fs.symlinkSync('x'.repeat(4000), join(HOME, 'l' + i)) },
  'write one huge file': () => fill(join(HOME, 'f'), 200),
  'write a huge sparse file': () => fs.ftruncateSync(fs.openSync(join(HOME, 'f'), 'w'), 2 ** 40),
  'write through holes': () => {
    const fd = fs.openSync(join(HOME, 'f'), 'w')
    for (let i = 0; i < 60; i++) { fs.writeSync(fd, chunk, 0, 4096, i * 2 ** 20); fill(join(HOME, 'g' + i), 2) }
  },
  'allocate without writing': () => require('node:child_process').execFileSync('sh', ['-c', 'fallocate -l 40M f && fallocate -l 40M g'], { stdio: 'pipe', cwd: HOME }),
  'flood its log': () => { for (let i = 0; i < 200; i++) for (let from = 0; from < chunk.length; ) from += fs.writeSync(1, chunk, from) },
  'log three times its disk space': () => {
    const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    const lines = Buffer.from(('x'.repeat(1023) + '\\n').repeat(1024))
    for (let i = 0; i < 200; i++) {
      // Waits until earlier lines were read, since the limit applies to unread ones.
      while (fs.fstatSync(1).size > 48 * 2 ** 20) wait()
      for (let from = 0; from < lines.length; ) from += fs.writeSync(1, lines, from)
    }
  },
  'allocate space beyond the end of its log': () => {
    const call = process.arch === 'arm64' ? 47 : 285
    const program = 'exit(syscall(' + call + ', 1, 1, 0, 40 * 2 ** 20) == 0 ? 0 : $! + 0)'
    const { status } = require('node:child_process').spawnSync('perl', ['-e', program], { stdio: ['ignore', 'inherit', 'inherit'] })
    if (status !== 0) throw Object.assign(new Error(), { code: 'errno ' + status })
  },
  'create a subvolume': () => {
    const { stderr } = require('node:child_process').spawnSync('btrfs', ['subvolume', 'create', join(HOME, 'more')], { encoding: 'utf8' })
    if (stderr) throw Object.assign(new Error(), { code: stderr.trim() })
  },
  'crash when full': () => fill('f', 200),
}
try {
  if (ATTACK === 'write a little') setInterval(() => fs.writeFileSync('little', String(Date.now())), 20)
  else attacks[ATTACK]()
  console.error('attack: done')
} catch (error) {
  if (ATTACK === 'crash when full') throw error
  console.error('attack: ' + (/Disk quota exceeded/.test(error.message) ? 'EDQUOT' : /No space left/.test(error.message) ? 'ENOSPC' : /File too large/.test(error.message) ? 'EFBIG' : error.errno === -122 ? 'EDQUOT' : error.code))
}
setInterval(() => {
  try { fs.accessSync(join(HOME, 'delete-now')) } catch { return }
  for (const name of fs.readdirSync(HOME)) fs.rmSync(join(HOME, name))
}, 20)
setInterval(() => { if (fs.existsSync(join(HOME, 'finish-now'))) process.exit(0) }, 20)
`
