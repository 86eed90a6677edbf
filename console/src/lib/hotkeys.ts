import { useEffect, useEffectEvent } from 'react'
import { getSetting } from './local-settings.ts'

export type Hotkey = {
  /** `mod+k`, `/`, or a sequence such as `g s`. `mod` is ⌘ on Apple's keyboards, Ctrl elsewhere. */
  keys: string
  /** The description in the list of shortcuts. */
  label: string
  run: () => void
}

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent)
/** `⌘` or `Ctrl`, for labels. */
export const modKey = isApple ? '⌘' : 'Ctrl'
/** Maximum time between the keys of a sequence. */
const sequenceMs = 1000

const registered = new Set<Hotkey>()
let pendingKeys = ''
let pendingAtMs = 0

/** The registered hotkeys that the user has not turned off. */
export const hotkeys = (): Hotkey[] =>
  [...registered].filter(({ keys }) => keys.startsWith('mod+') || getSetting('singleKeys'))

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || event.altKey) return
  const hasMod = event.metaKey || event.ctrlKey
  // Users who dictate, or who press keys by accident, can turn off shortcuts without a modifier (WCAG 2.1.4).
  if (!hasMod && (isTyping(event.target) || !getSetting('singleKeys'))) return
  // While a dialog or menu is open, it handles keys without a modifier.
  if (!hasMod && document.querySelector('[role=dialog], [role=alertdialog], [role=menu], [role=listbox]')) return
  const key = hasMod ? `mod+${event.key.toLowerCase()}` : event.key
  const typed = event.timeStamp - pendingAtMs < sequenceMs && pendingKeys !== '' ? `${pendingKeys} ${key}` : key
  const match = [...registered].findLast((hotkey) => hotkey.keys === typed || hotkey.keys === key)
  pendingKeys = match ? '' : key
  pendingAtMs = event.timeStamp
  if (!match) return
  event.preventDefault()
  match.run()
}

/** Registers a hotkey. If several have the same keys, the last one runs. Returns a function that unregisters the hotkey. */
function addHotkey(hotkey: Hotkey): () => void {
  if (registered.size === 0) document.addEventListener('keydown', onKeyDown)
  registered.add(hotkey)
  return () => {
    registered.delete(hotkey)
    if (registered.size === 0) document.removeEventListener('keydown', onKeyDown)
  }
}

/** The part of an `Action` of `ui/` that concerns hotkeys. */
type ActionWithKeys = Pick<Hotkey, 'label' | 'run'> & { keys?: string; disabledReason?: string | null }

/** Registers the keys of these actions while the component is mounted. Disabled actions, and those without keys, have no hotkey. */
export function useHotkeys(actions: readonly ActionWithKeys[]): void {
  const run = useEffectEvent((keys: string) => actions.find((action) => action.keys === keys)?.run())
  const enabled = actions.flatMap(({ keys, label, disabledReason }) => (keys && !disabledReason ? [[keys, label]] : []))
  const enabledKey = JSON.stringify(enabled)
  useEffect(() => {
    const added = (JSON.parse(enabledKey) as [string, string][]).map(([keys, label]) =>
      addHotkey({ keys, label, run: () => run(keys) }),
    )
    return () => added.forEach((remove) => remove())
  }, [enabledKey])
}
