import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../root.ts'

/** The command that a container of an image runs, with its environment and volumes. */
export type ImageConfig = { env: Record<string, string>; args: string[]; volumes: string[] }

/**
 * Applies deploy/Containerfile to a folder with the files of its base image, without Docker. `context`: the folder with `dist/`.
 * @throws Error with the output of a command that fails, or if this function does not support an instruction of the Containerfile
 */
export function buildFromContainerfile(folder: string, context: string): ImageConfig {
  const text = readFileSync(join(root, 'deploy/Containerfile'), 'utf8')
  const lines = text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/ *\\\n */g, ' ')
    .split('\n')
    .filter(Boolean)
  const config: ImageConfig = { env: {}, args: [], volumes: [] }
  let command: string[] = []
  for (const line of lines) {
    const [, instruction = '', rest = ''] = /^(\w+) (.*)$/.exec(line) ?? []
    if (instruction === 'RUN') execute('chroot', [folder, 'sh', '-c', rest])
    else if (instruction === 'ADD') addArchive(folder, context, rest)
    else if (instruction === 'ENV')
      for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=(\S+)/g)) config.env[name] = value
    else if (instruction === 'VOLUME') config.volumes.push(rest)
    else if (instruction === 'ENTRYPOINT') config.args = JSON.parse(rest) as string[]
    else if (instruction === 'CMD') command = JSON.parse(rest) as string[]
    else if (!['ARG', 'FROM', 'EXPOSE', 'HEALTHCHECK'].includes(instruction))
      throw new Error(`This build does not support the instruction ${instruction} of deploy/Containerfile.`)
  }
  return { ...config, args: [...config.args, ...command] }
}

function addArchive(folder: string, context: string, rest: string): void {
  const [pattern = '', target = ''] = rest.split(' ')
  mkdirSync(join(folder, target), { recursive: true })
  execute('sh', [
    '-c',
    `for file in ${context}/${pattern}; do tar -xzf "$file" -C "$1"; done`,
    'sh',
    join(folder, target),
  ])
}

function execute(program: string, args: string[]): void {
  try {
    execFileSync(program, args, {
      stdio: 'pipe',
      encoding: 'utf8',
      env: { PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' },
    })
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
  }
}
