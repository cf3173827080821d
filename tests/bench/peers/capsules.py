"""A straightforward PyTorch implementation of capsules for the peers: every prediction in memory, gradients by autograd.

Procedure 1 of Sabour, Frosst and Hinton (2017), in two ways: as products of matrices, and as weighted sums, which
torch.compile can fuse.
"""

import torch


def squash(s):
    squared = s.square().sum(dim=-1, keepdim=True)
    return s * (squared / (1 + squared) / (squared + 1e-7).sqrt())


def predictions_of(u, weight, classes):
    """[images, classes, inputs, size] of capsules [images, inputs, input size] by weights [inputs, input size, classes *
    size] of their own, or by [input size, classes * size] for all."""
    images, inputs, _ = u.shape
    if weight.dim() == 2:
        made = (u @ weight).view(images, inputs, classes, -1).transpose(1, 2)
    else:
        made = torch.bmm(u.transpose(0, 1), weight)  # an input's: images x classes * size
        made = made.view(inputs, images, classes, -1).permute(1, 2, 0, 3)
    return made.contiguous()


def by_products(u, weight, classes, iterations):
    predictions = predictions_of(u, weight, classes)
    logits = predictions.new_zeros(predictions.shape[:3])
    for iteration in range(iterations):
        v = squash(torch.matmul(logits.softmax(dim=1).unsqueeze(2), predictions).squeeze(2))
        if iteration + 1 < iterations:
            logits = logits + torch.matmul(predictions, v.unsqueeze(3)).squeeze(3)
    return v


def by_sums(u, weight, classes, iterations):
    predictions = predictions_of(u, weight, classes)
    logits = predictions.new_zeros(predictions.shape[:3])
    for iteration in range(iterations):
        v = squash((logits.softmax(dim=1).unsqueeze(3) * predictions).sum(dim=2))
        if iteration + 1 < iterations:
            logits = logits + (predictions * v.unsqueeze(2)).sum(dim=3)
    return v
