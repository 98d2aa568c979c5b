"""Random data of the peers in PyTorch. `sample` draws the rows of one update."""
from collections import namedtuple

import torch

from peer import GAMMA

Batch = namedtuple("Batch", "obs action reward next_obs not_done next_action")


class Dataset:
    def __init__(self, rows, sizes):
        self.rows = rows
        self.columns = Batch(
            obs=torch.randn(rows, sizes.obs),
            action=torch.rand(rows, sizes.action) * 2 - 1,
            reward=torch.randn(rows),
            next_obs=torch.randn(rows, sizes.obs),
            not_done=(torch.rand(rows) > 0.01).float(),
            next_action=torch.rand(rows, sizes.action) * 2 - 1,
        )

    def draw(self, batch_size):
        return torch.randint(0, self.rows, (batch_size,))

    def sample(self, batch_size, next_actions):
        index = self.draw(batch_size)
        columns = self.columns
        return Batch(
            *(column[index] for column in columns[:5]),
            columns.next_action[index] if next_actions else None,
        )


class ChoiceDataset(Dataset):
    def __init__(self, rows, sizes):
        super().__init__(rows, sizes)
        self.columns = self.columns._replace(action=torch.randint(0, sizes.action, (rows,)))


class PrioritizedDataset(Dataset):
    """Draws rows in proportion to their priorities. Every update sets the priorities of its batch."""

    reset_every = 250

    def __init__(self, rows, sizes):
        super().__init__(rows, sizes)
        self.priorities = torch.ones(rows)
        self.largest, self.updates = 1.0, 0  # `largest` would be the priority of a new row

    def draw(self, batch_size):
        sums = self.priorities.cumsum(0)
        index = torch.searchsorted(sums, torch.rand(batch_size) * sums[-1])
        self.index = index.clamp(max=self.rows - 1)
        return self.index

    def set_priorities(self, priorities):
        self.priorities[self.index] = priorities
        self.largest = max(self.largest, float(priorities.max()))
        self.updates += 1
        if self.updates % self.reset_every == 0:
            self.largest = float(self.priorities.max())


class Rollout:
    """2048 rows, used in shuffled minibatches."""

    Minibatch = namedtuple("Minibatch", "obs action log_prob value advantage")

    def __init__(self, _rows, sizes):
        self.rows, self.order = 2048, None
        self.columns = self.Minibatch(
            obs=torch.randn(self.rows, sizes.obs),
            action=torch.randn(self.rows, sizes.action),
            log_prob=torch.randn(self.rows) - sizes.action,
            value=torch.randn(self.rows),
            advantage=torch.randn(self.rows),
        )

    def sample(self, batch_size, _next_actions):
        if self.order is None or len(self.order) < batch_size:
            self.order = torch.randperm(self.rows)
        index, self.order = self.order[:batch_size], self.order[batch_size:]
        return self.Minibatch(*(column[index] for column in self.columns))


class WholeRollout(Rollout):
    """All rows of a rollout in a random order."""

    def sample(self, _batch_size, next_actions):
        return super().sample(self.rows, next_actions)


class Windows:
    """Segments of 20 steps from episodes of 1000 steps. Steps after the end of an episode are zero."""

    Batch = namedtuple("Batch", "obs action return_to_go timestep mask")
    steps, episode = 20, 1000

    def __init__(self, rows, sizes):
        self.rows = rows
        self.obs = torch.randn(rows, sizes.obs)
        self.action = torch.rand(rows, sizes.action) * 2 - 1
        self.return_to_go = torch.randn(rows)

    def sample(self, batch_size, _next_actions):
        first = torch.randint(0, self.rows, (batch_size, 1))
        index = (first + torch.arange(self.steps)).clamp(max=self.rows - 1)
        timestep = first % self.episode + torch.arange(self.steps)
        inside = timestep < self.episode
        mask = inside.float()
        return self.Batch(
            obs=self.obs[index] * mask.unsqueeze(-1),
            action=self.action[index] * mask.unsqueeze(-1),
            return_to_go=self.return_to_go[index] * mask,
            timestep=timestep * inside,
            mask=mask,
        )


class Images:
    """Stacks of three frames of 84 x 84 pixels; a transition spans three steps."""

    Batch = namedtuple("Batch", "obs action reward next_obs discount")
    rows, frames, steps, shape = 1000, 3, 3, (9, 84, 84)

    def __init__(self, _rows, sizes):
        count = self.rows + self.steps + self.frames - 1
        self.images = torch.randint(0, 256, (count, 3, 84, 84), dtype=torch.uint8)
        self.action = torch.rand(self.rows, sizes.action) * 2 - 1
        self.reward = torch.randn(self.rows)  # sum of the rewards of three steps
        self.discount = torch.full((self.rows,), GAMMA**self.steps)

    def stacks(self, index):
        return self.images[index.unsqueeze(1) + torch.arange(self.frames)].flatten(1, 2)

    def sample(self, batch_size, _next_actions):
        index = torch.randint(0, self.rows, (batch_size,))
        return self.Batch(
            obs=self.stacks(index),
            action=self.action[index],
            reward=self.reward[index],
            next_obs=self.stacks(index + self.steps),
            discount=self.discount[index],
        )
