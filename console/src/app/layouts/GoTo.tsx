import { useHotkey } from '../../lib/hotkeys.ts'

/** One hotkey as a component, for lists of them. */
export function GoTo({ keys, label, onGo }: { keys: string; label: string; onGo: () => void }) {
  useHotkey(keys, label, onGo)
  return null
}
