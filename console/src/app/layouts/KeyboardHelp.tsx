import { hotkeys, modKey } from '../../lib/hotkeys.ts'
import { useSetting } from '../../lib/local-settings.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { Kbd } from '../../ui/Kbd.tsx'

/** The hotkeys that work on the current page. */
export default function KeyboardHelp({ onClose }: { onClose: () => void }) {
  const hasSingleKeys = useSetting('singleKeys')
  const shortcuts = [...hotkeys(), { keys: 'Esc', label: 'Close the open dialog or menu' }]
  return (
    <Dialog title="Keyboard shortcuts" isOpen onClose={onClose}>
      <dl className="mt-2 grid grid-cols-1 gap-x-8">
        {shortcuts.map(({ keys, label }) => (
          <div
            key={keys}
            className="flex min-h-9 items-center justify-between gap-4 border-b border-line last:border-b-0"
          >
            <dt className="text-ink">{label}</dt>
            <dd>
              <Kbd keys={keys.replace('mod+', `${modKey} `)} />
            </dd>
          </div>
        ))}
      </dl>
      {!hasSingleKeys && (
        <p className="mt-3 text-sm text-ink-3">Single-key shortcuts are off. The account settings turn them on.</p>
      )}
    </Dialog>
  )
}
