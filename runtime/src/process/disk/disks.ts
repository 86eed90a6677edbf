/**
 * Limits the space that the files of one program take on the disk of the host. `quota`: a btrfs subvolume with a quota; `image`: a
 * sized ext4 image; both are mounted in a mount namespace of the program, which ends with the program. `none`: only the size of each
 * file is limited.
 */
export type Disks = {
  kind: 'image' | 'quota' | 'none'
  /** Space of each container in bytes; 0: unlimited. */
  containerBytes: number
  /**
   * Returns a command prefix that mounts the disk on `dir`, in a new mount namespace, with the files that are already on it. Empty
   * if nothing is mounted. The caller may create `folders` after the call, but must do so before it runs the command.
   * @throws when the image cannot be created, for example because the disk of the host is full
   */
  mount(disk: DiskMount): Promise<string[]>
  /**
   * Mounts a disk in a mount namespace that ends when the caller closes the disk or this process ends. Programs that join the
   * namespace and this process have different paths to the same files.
   * @throws when the disk cannot be created or mounted
   */
  open(disk: Omit<DiskMount, 'folders' | 'newOwner'>): Promise<OpenDisk>
  /**
   * Resolves with whether the disk of the running program `pid` is full; null when that cannot be determined, for example because the
   * program has ended or has no disk.
   */
  isFull(disk: Pick<DiskMount, 'dir' | 'image'> & { pid: number }): Promise<boolean | null>
  /** Waits until all work in the background has ended. */
  close: () => Promise<void>
}

export type DiskMount = {
  /** The mount point, an existing directory. */
  dir: string
  /** Folders in `dir`, copied to the disk if it does not have them. */
  folders: string[]
  /**
   * The file or subvolume that contains the disk, next to `dir`; created if it does not exist. The caller deletes it, with everything
   * in it, when the programs have ended.
   */
  image: string
  /** The size of a new disk; 0: `mount` creates none. */
  bytes: number
  /** Replaces the owner of the files that an earlier run wrote. */
  newOwner: { from: number; to: number } | null
}

/** A disk that several programs use, one after the other or concurrently. */
export type OpenDisk = {
  kind: Disks['kind']
  /** Returns the path at which this process accesses `path` of the namespace. */
  fromServer: (path: string) => string
  /** Replaces paths that `fromServer` has returned in `text` with the paths in the namespace. */
  inNamespace: (text: string) => string
  /** A command prefix that joins the namespace. */
  commandPrefix: string[]
  /** Mounts another disk in the namespace. */
  attach(disk: Omit<DiskMount, 'folders' | 'newOwner'>): Promise<void>
  /** True when less than 2 % of the disk is free. */
  isFull: () => Promise<boolean>
  close: () => Promise<void>
}

const unlimitedDisk: OpenDisk = {
  kind: 'none',
  fromServer: (path) => path,
  inNamespace: (text) => text,
  commandPrefix: [],
  attach: async () => undefined,
  isFull: async () => false,
  close: async () => undefined,
}

/** Returns disks that are part of the disk of the host. `containerBytes`: the limit of each file of a container, not of all its files. */
export const unlimitedDisks = (containerBytes: number): Disks => ({
  kind: 'none',
  containerBytes,
  mount: async () => [],
  open: async () => unlimitedDisk,
  isFull: async () => null,
  close: async () => undefined,
})
