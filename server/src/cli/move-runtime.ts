import type { Command } from './command.ts'

/** The command that moves an installation to other settings. */
export const moveRuntimeCommand: Record<string, Command> = {
  'move-runtime': {
    runOnFiles: async (config, options) => {
      // Only this command needs the modules that run programs of squids.
      const { moveRuntime } = await import('../move/move-runtime.ts')
      return await moveRuntime(config, options)
    },
    options: ['to'],
    flags: ['dry-run', 'push-images', 'force'],
    summary:
      'move this installation, with the databases of squids, to the settings in the file --to (lines NAME=value), such as from one machine to a cluster or back, while no server runs; --dry-run only checks and estimates, and --push-images only pushes images in advance, both even while a server runs; --force accepts that images are missing',
  },
}
