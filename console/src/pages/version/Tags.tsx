import { squidDisabledReasons, type Squid } from '@shoal/contract'
import { Copy, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useApiMutation } from '../../api/mutation.ts'
import { useDeniedReason } from '../../components/access.tsx'
import { confirm } from '../../components/confirm.ts'
import { versionChange } from '../../components/squid/use-squid-actions.tsx'
import { copyWithToast } from '../../components/copy-with-toast.ts'
import { Button } from '../../ui/Button.tsx'
import { cx } from '../../ui/classes.ts'
import { MenuButton } from '../../components/MenuButton.tsx'
import { lazyPart, Optional } from '../../lib/lazy.tsx'

const AddTagDialog = lazyPart(() => import('./AddTagDialog.tsx'))

/** The tags of a version, each with a menu, and a button to add one. */
export function Tags({ squid }: { squid: Squid }) {
  const [isAdding, setIsAdding] = useState(false)
  const deniedReason = useDeniedReason('squids.write')
  const disabledReason = deniedReason ?? squidDisabledReasons.changeTags(squid)
  const remove = useApiMutation('squids.removeTag', {
    ...versionChange,
    errorDisplay: 'caller',
  })
  const urlOf = (tag: string) => squid.api?.urls.find(({ type, name }) => type === 'tag' && name === tag)?.url
  const confirmRemove = (tag: string) =>
    confirm({
      title: `Remove the tag ${tag}?`,
      body: `Its URL stops working immediately. ${squid.reference} keeps running with its other URLs.`,
      confirmLabel: 'Remove tag',
      isDanger: true,
      action: () => remove.mutateAsync({ params: { code: squid.organization.code, reference: squid.reference, tag } }),
    })
  const copy = (tag: string, url: string) => void copyWithToast(url, `The URL of ${tag} has been copied`)
  return (
    <span className="inline-flex flex-wrap items-center gap-1.5">
      {squid.tags.map(({ name }) => {
        const url = urlOf(name)
        return (
          <MenuButton
            key={name}
            label={`Tag ${name}`}
            placement="bottom start"
            groups={[
              {
                id: 'tag',
                actions: [
                  {
                    id: 'copy',
                    label: 'Copy URL',
                    icon: <Copy size={16} />,
                    disabledReason: url ? null : 'This version has no API.',
                    onAction: () => url && copy(name, url),
                  },
                  {
                    id: 'remove',
                    label: 'Remove tag',
                    icon: <Trash2 size={16} />,
                    isDanger: true,
                    disabledReason,
                    onAction: () => confirmRemove(name),
                  },
                ],
              },
            ]}
            renderTrigger={(trigger) => (
              <button
                type="button"
                {...trigger}
                aria-label={`Tag ${name}`}
                className={cx(
                  'inline-flex h-6 items-center rounded-sm bg-accent-soft px-1.5 font-mono text-tag font-medium text-accent',
                  'hover:outline hover:outline-accent aria-expanded:outline aria-expanded:outline-accent',
                )}
              >
                {name}
              </button>
            )}
          />
        )
      })}
      <Button
        size={28}
        variant="ghost"
        icon={<Plus size={14} aria-hidden />}
        disabledReason={disabledReason}
        onClick={() => setIsAdding(true)}
        className="h-6 px-1.5"
      >
        Add tag
      </Button>
      <Optional what="The dialog" onFailed={() => setIsAdding(false)}>
        {isAdding && <AddTagDialog squid={squid} onClose={() => setIsAdding(false)} />}
      </Optional>
    </span>
  )
}
